"""What of the speed benchmark can be wrong without anybody noticing: which files are read, and where the table goes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import lint_speed  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    for number in range(6):
        (tmp_path / "code" / str(number)).mkdir(parents=True)
        (tmp_path / "code" / str(number) / "a.py").write_text("x = 1\n" * 10)
    (tmp_path / "code" / "notes.txt").write_text("no code\n")
    return tmp_path / "code"


def test_all_files_and_their_lines(folder, tmp_path):
    assert lint_speed.lay_out([folder], tmp_path / "out") == 60
    names = (tmp_path / "out" / "list.txt").read_text().split("\n")
    assert len(names) == 6 and all(Path(name).read_text().count("\n") == 10 for name in names)


def test_a_part_is_the_same_every_time(folder, tmp_path):
    counts = [lint_speed.lay_out([folder], tmp_path / name, 25) for name in ("one", "two")]
    assert counts == [30, 30]
    parts = [sorted(p.relative_to(tmp_path / name) for p in (tmp_path / name).rglob("*.py")) for name in ("one", "two")]
    assert parts[0] == parts[1] and len(parts[0]) == 3


def test_half_of_the_rules_are_rules_that_run():
    codes = lint_speed.half_of_the_rules().split(",")
    assert len(codes) > 20 and {"TL101", "TL102"} & set(codes)  # whichever half they are in


def test_the_table_is_put_between_its_marks(tmp_path, monkeypatch):
    results = tmp_path / "RESULTS.md"
    results.write_text("# Results\n\nbefore\n")
    monkeypatch.setattr(lint_speed, "RESULTS", results)
    lint_speed.write([["torchlint, cold", "1", "1.00"]], 10, "code")
    results.write_text(f"{results.read_text()}after\n")
    lint_speed.write([["torchlint, cold", "2", "1.00"]], 10, "code")
    text = results.read_text()
    assert text.count("| torchlint, cold |") == 1 and "| 2 |" in text
    assert text.index("before") < text.index("torchlint, cold") < text.index("after")
