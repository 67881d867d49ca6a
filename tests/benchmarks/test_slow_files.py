"""The figures of single files."""

import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import slow_files  # noqa: E402


def test_files_are_judged_and_the_slowest_are_named(tmp_path):
    (tmp_path / "train.py").write_text("import torch\n\nmodel = torch.nn.Linear(2, 2)\n" * 5)
    (tmp_path / "short.py").write_text("import torch\n")
    found = slow_files.costs([tmp_path / "short.py", tmp_path / "train.py"])
    assert [(one.path.name, one.lines, one.in_part) for one in found] == [("short.py", 1, False), ("train.py", 15, False)]
    found = [dataclasses.replace(one, seconds=1.0, in_part=one.lines > 1) for one in found]
    cells, worst = slow_files.row(tmp_path, found, least=10)
    assert cells == [tmp_path.name, "2", "16", "125.00", "1 of 1", "1"]
    assert worst == [f"{tmp_path.name}/train.py, 15 lines: 1.00 s"]
