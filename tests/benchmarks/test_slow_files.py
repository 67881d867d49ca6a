"""The figures of single files."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import slow_files  # noqa: E402


def test_files_are_judged_and_the_slowest_are_named(tmp_path):
    (tmp_path / "train.py").write_text("import torch\n\nmodel = torch.nn.Linear(2, 2)\n" * 5)
    (tmp_path / "short.py").write_text("import torch\n")
    found = slow_files.costs(tmp_path)
    assert [(path.name, lines) for path, lines, _ in found] == [("short.py", 1), ("train.py", 15)]
    cells, worst = slow_files.row(tmp_path, [(path, lines, 1.0) for path, lines, _ in found], least=10)
    assert cells == [tmp_path.name, "2", "16", "125.00", "1 of 1"]
    assert worst == [f"{tmp_path.name}/train.py, 15 lines: 1.00 s"]
