"""The table of training repositories: which files are judged, and that ratios are of all lines."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import training  # noqa: E402


def test_the_longer_files_of_each_repository_are_told(tmp_path):
    lines = {"train.py": 600, "helpers.py": 499, "data.py": 3001}
    for name, count in lines.items():
        (tmp_path / "one").mkdir(exist_ok=True)
        (tmp_path / "one" / name).write_text("import torch\n" + "x = 1\n" * (count - 1))
    (tmp_path / "one" / "plain.py").write_text("x = 1\n" * 700)
    asked = []

    def rate(name, files, lines):
        asked.append((name, [path.name for path in files], lines))
        return {"torchlint": 1000.0, "TorchFix": 100.0}[name]

    given = training.Repository.of(f"{tmp_path}/one@0123456789abcdef")
    rows = training.of_each([given], lambda folder, place: shutil.copytree(folder, place, dirs_exist_ok=True), rate, 1)
    assert asked == [("torchlint", ["train.py"], 600), ("TorchFix", ["train.py"], 600)]
    assert rows[0][:7] == ["one 0123456789ab", "1", "600", "1,000", "10.0", "0", "0"] and rows[0][7].startswith("train.py, 600 lines")
    assert rows[1][:7] == ["all", "1", "600", "1,000", "10.0", "0", "0"]
