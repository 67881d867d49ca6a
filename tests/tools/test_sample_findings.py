"""The sampler of findings: the same seed, the same findings."""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import sample_findings  # noqa: E402


def finding(row, file="a.py", code="TL101", **more):
    return {"code": code, "filename": file, "location": {"row": row, "column": 1}, "message": f"message {row}", **more}


def test_a_seed_draws_the_same_whatever_the_order():
    findings = [finding(row) for row in range(1, 101)]
    drawn = sample_findings.sample(findings, 7, 20)
    mixed = list(findings)
    random.Random(1).shuffle(mixed)
    assert sample_findings.sample(mixed, 7, 20) == drawn
    assert sample_findings.sample(findings, 8, 20) != drawn
    assert len({sample_findings.place(item) for item in drawn}) == 20
    assert drawn == sorted(drawn, key=sample_findings.place)


def test_fewer_findings_than_asked_for():
    assert len(sample_findings.sample([finding(1), finding(2)], 1, 20)) == 2


def test_shown_with_its_lines(tmp_path, monkeypatch, capsys):
    file = tmp_path / "a.py"
    file.write_text("".join(f"line {number}\n" for number in range(1, 21)))
    other = {"filename": "b.py", "location": {"row": 3, "column": 1}, "message": "because of this"}
    findings = tmp_path / "findings.json"
    findings.write_text(json.dumps([finding(2, str(file)), finding(10, str(file), related=[other])]))
    options = ["--seed", "1", "--number", "9", "--context", "1"]
    monkeypatch.setattr(sys, "argv", ["sample_findings.py", str(findings), *options])
    sample_findings.main()
    text = capsys.readouterr().out
    assert "#1\n" in text and "#2\n" in text
    assert f"==== TL101 {file}:10  message 10\n     b.py:3  because of this\n     9 line 9\n" in text
    assert "     9 line 9\n>   10 line 10\n    11 line 11\n" in text
    assert "     1 line 1\n>    2 line 2\n     3 line 3\n" in text
