"""`torchlint --with report.json`: what a run saw, beside what stands in the source. The reports are torchsan's own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from torchlint.cli import main

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
table = torch.randn(32, 4)
table[5, 2] = float("nan")
for rows in table.split(8):
    loss = F.cross_entropy(model(rows).softmax(1), torch.randint(0, 3, (8,)))
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder with the program, and what torchsan said of it."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("run")
    (folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "torchsan", "run", "-q", "--report", "live.json", "train.py"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def lint(ran, tmp_path, monkeypatch, capsys):
    """Judges the program (or a changed one) beside the report: exit status, findings by code, and standard error."""

    def lint(*arguments, program=PROGRAM, report="live.json"):
        (tmp_path / "train.py").write_text(program, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        status = main(["--isolated", "--no-cache", "-j", "1", "-f", "json", "--with", str(ran / report), *arguments])
        out, err = capsys.readouterr()
        return status, {one["code"]: one for one in json.loads(out or "[]")}, err

    return lint


def test_findings_are_confirmed_or_live_only(lint):
    status, found, said = lint("train.py")
    assert status == 1
    assert sorted(code for code in found if code.startswith("TS")) == ["TS423"]
    for code in ("TL101", "TL301"):
        assert "(seen live " in found[code]["message"] and found[code]["count"] > 1
        assert found[code]["message"].endswith(f"(seen live {found[code]['count']} times)")
    assert found["TS423"]["location"]["row"] == 11 and "(seen live alone)" in found["TS423"]["message"]
    assert "live findings in the source, too; 1 live only" in said


def test_both_tools_give_the_same_fingerprints(ran, lint, capsys):
    _, found, _ = lint("train.py")
    live = {one["code"]: one["fingerprint"] for one in json.loads((ran / "live.json").read_text(encoding="utf-8"))}
    assert found["TL101"]["fingerprint"] == live["TS101"] and found["TL301"]["fingerprint"] == live["TS301"]
    main(["--isolated", "--no-cache", "-j", "1", "-f", "sarif", "train.py"])
    log = json.loads(capsys.readouterr().out)
    sarif = {one["ruleId"]: one["partialFingerprints"]["torchlintFinding/v1"] for one in log["runs"][0]["results"]}
    assert sarif["TL301"] == live["TS301"]


def test_lines_may_move(lint):
    _, found, _ = lint("train.py", program="# a comment\n\n" + PROGRAM)
    assert "(seen live " in found["TL301"]["message"]
    assert found["TS423"]["location"]["row"] == 13


def test_a_line_that_changed_is_not_told_of(lint):
    _, found, said = lint("train.py", program=PROGRAM.replace("model(rows).softmax(1)", "model(rows)"))
    assert "TS423" not in found and "TS301" not in found
    assert "2 left out: their lines have changed since" in said


def test_what_is_not_wanted_stays_away(lint):
    assert "TS423" not in lint("--select", "301", "train.py")[1]
    assert "TS423" not in lint("--ignore", "423", "train.py")[1]
    silenced = PROGRAM.replace("(8,)))", "(8,)))  # noqa: TL423")
    assert "TS423" in lint("train.py")[1]
    assert "TS423" not in lint("train.py", program=silenced)[1]


def test_findings_in_other_files_are_counted(lint, tmp_path):
    (tmp_path / "other.py").write_text("import torch\n", encoding="utf-8")
    status, found, said = lint("other.py")
    assert (status, found) == (0, {}) and "3 in other files" in said


@pytest.mark.parametrize(
    "content, why",
    [
        (None, "cannot be read: no such file or directory"),
        (b"", "no JSON report of torchsan"),
        (b"{}", "no JSON report of torchsan"),
        (b"\xff\xfe", "no JSON report of torchsan"),
        (b"[" * 100_000, "no JSON report of torchsan"),
        (b'[{"code": "TS101"}]', "no JSON report of torchsan"),
    ],
)
def test_a_bad_report_is_one_line(tmp_path, monkeypatch, capsys, content, why):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "bad.json").write_bytes(content)
    assert main(["--isolated", "--with", "bad.json"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("torchlint: error: bad.json: ") and why in err and err.count("\n") == 1


def test_torchlints_own_report_is_none_of_a_run(lint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    main(["--isolated", "--no-cache", "-j", "1", "-f", "json", "-o", "own.json", "train.py"])
    assert main(["--isolated", "--with", "own.json", "train.py"]) == 2
    assert "is no code of its" in capsys.readouterr().err
