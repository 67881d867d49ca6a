"""The comparison with other linters: what they print is read right, and the tables count it right."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import compare  # noqa: E402
import linters  # noqa: E402
import scoring  # noqa: E402
from linters import Finding, Run  # noqa: E402

TORCHLINT = [{
    "code": "TL101", "filename": "a.py", "location": {"row": 3, "column": 1}, "group": "correctness", "message": "adds",
}]
TORCHFIX = """\
a.py:12:1: TOR203 [*] Consider replacing 'import torchvision.models as models' with 'from torchvision import models'.
--- a.py
+++ a.py
@@ -10,3 +10,3 @@
-x = 1  # b.py:1:1: not a finding
sub/b.py:7:20: TOR401 Detected DataLoader
Finished checking 2 files.
"""
PREFLIGHT = {
    "diagnostics": [{"code": "TG003", "path": "a.py", "line": 5, "severity": "error", "message": "grows"}],
    "failures": [{"path": "b.py", "error": "syntax error"}],
}
MLDOCT = [
    {"severity": "INFO", "message": "No clipping", "fix": "", "type": "missing_clip", "line": None, "path": "a.py"},
    {"severity": "ERROR", "message": "Syntax error", "fix": "", "type": "syntax_error", "line": 2, "path": "b.py"},
    {"path": "c.py", "crash": "UnicodeDecodeError()"},
]


@pytest.mark.parametrize(
    ("tool", "out", "err", "findings", "crashes"),
    [
        ("torchlint", json.dumps(TORCHLINT), "torchlint: b.py:1: does not parse\nsomething else\n",
         [("a.py", 3, "TL101", "correctness")], ["b.py:1: does not parse"]),
        ("TorchFix", TORCHFIX, "Codemodding c.py\nFailed to codemod c.py\n",
         [("a.py", 12, "TOR203", ""), ("sub/b.py", 7, "TOR401", "")], ["Failed to codemod c.py"]),
        ("torch-preflight", json.dumps(PREFLIGHT), "", [("a.py", 5, "TG003", "error")], ["b.py: syntax error"]),
        ("mldoct", json.dumps(MLDOCT), "", [("a.py", 0, "missing_clip", "info")],
         ["b.py: Syntax error", "c.py: UnicodeDecodeError()"]),
    ],
)
def test_what_a_tool_prints(tool, out, err, findings, crashes):
    run = linters.TOOLS[tool].parse(out, err)
    assert [(item.file, item.line, item.code, item.level) for item in run.findings] == findings
    assert run.crashes == crashes
    assert Run.from_json(run.to_json()) == run


def test_a_tool_is_called_and_timed(tmp_path):
    tool = linters.Tool(
        "echo", "", lambda binaries, folders: [sys.executable, "-c", f"print({json.dumps(TORCHLINT)!r})"],
        linters.parse_torchlint,
    )
    run = tool.run(tool.install(tmp_path), [tmp_path])
    assert [item.code for item in run.findings] == ["TL101"]
    assert run.seconds > 0


def label(name, number, line, split="bug", **more):
    return {"id": name, "pitfall": number, "line": line, "split": split, "path": "train.py", **more}


def corpus(folder, *names, mended=()):
    for name in names:
        for side in ("before", *(("after",) if name in mended else ())):
            (folder / name / side).mkdir(parents=True)
            (folder / name / side / "train.py").write_text("")
            (folder / name / side / "other.py").write_text("")


def test_score(tmp_path):
    corpus(tmp_path, "near", "far", "absent", "project", "other", "trap", "calm", mended=("near", "far"))
    labels = [
        label("near", 703, 50), label("far", 703, 50), label("absent", 202, 50), label("other", 106, 50),
        label("project", 703, 50, scope="project"), label("trap", 202, 50, "trap"), label("calm", 202, 50, "trap"),
        label("not laid out", 101, 1),
    ]
    findings = [
        Finding(str(tmp_path / name / side / file), line, code) for name, side, file, line, code in (
            ("near", "before", "train.py", 62, "clip"), ("far", "before", "train.py", 63, "clip"),
            ("near", "after", "train.py", 38, "clip"), ("far", "after", "train.py", 63, "clip"),
            ("absent", "before", "train.py", 0, "grad"), ("project", "before", "other.py", 1, "clip"),
            ("trap", "before", "train.py", 50, "grad"), ("calm", "before", "train.py", 1, "grad"),
            ("other", "before", "train.py", 50, "nothing"),
        )
    ]
    result = scoring.score(labels, tmp_path, findings, {"clip": {703}, "grad": {202, 101}, "nothing": set()})
    assert [item["id"] for item in result.caught] == ["near", "absent", "project"]
    assert [item["id"] for item in result.missed] == ["far", "other"]
    assert [item["id"] for item in result.sprung] == ["trap"]
    assert (result.traps, result.twins) == (2, 2)
    assert [item["id"] for item in result.still] == ["near"]
    assert result.within(scoring.covered({703})) == (2, 3)
    assert result.within(scoring.covered({201, 302})) == (0, 0)


def test_same_mistake_under_another_number(tmp_path):
    corpus(tmp_path, "one")
    findings = [Finding(str(tmp_path / "one/before/train.py"), 9, "grad")]
    assert scoring.score([label("one", 101, 1)], tmp_path, findings, {"grad": {103}}).caught
    assert not scoring.score([label("one", 102, 1)], tmp_path, findings, {"grad": {103}}).caught


def test_trusted_row_counts_verdicts():
    run = Run([
        Finding("examples/a.py", 1, "TG003", "error"), Finding("examples/a.py", 2, "TG004", "note"),
        Finding("examples/a.py", 3, "TG002", "error"), Finding("examples/b.py", 3, "TG002", "error"),
    ], ["examples/c.py: syntax error"], 4.0)
    verdicts = {
        ("torch-preflight", "examples/a.py", 1, "TG003"): "true",
        ("torch-preflight", "examples/a.py", 2, "TG004"): "opinion",
        ("torch-preflight", "examples/a.py", 3, "TG002"): "false", ("mldoct", "examples/b.py", 3, "TG002"): "true",
    }
    rows = {row.title: row for row in compare.ROWS}
    every = compare.trusted_row(rows["torch-preflight"], run, verdicts, 1000)
    assert every == ["torch-preflight", "4", "1", "1", "1", "1", "1 of 4 (25%)", "4", "250", "1"]
    loud = compare.trusted_row(rows["torch-preflight, without notes"], run, verdicts, 1000)
    assert loud[1:6] == ["3", "1", "1", "0", "1"]


def test_codes_that_torchfix_leaves_out_by_default():
    row = next(row for row in compare.ROWS if row.title == "TorchFix")
    codes = ("TOR102", "TOR203", "TOR401", "TOR901", "TOR003")
    assert [code for code in codes if row.keeps(Finding("a.py", 1, code))] == ["TOR102", "TOR203", "TOR003"]


def test_tables_of_the_repository():
    numbers = compare.peer_numbers((compare.HERE / "peer_codes.toml").read_text())
    assert set(numbers) <= set(linters.TOOLS)
    own = compare.own_numbers()
    assert own["torchlint"].items() < own["torchlint-all"].items()
    verdicts = compare.read_verdicts(compare.HERE / "verdicts.csv")
    assert {tool for tool, *_ in verdicts} <= set(linters.TOOLS)
    for tool, _, _, code in verdicts:
        assert code in (numbers | own)[tool], (tool, code)


def test_a_verdict_is_one_of_three(tmp_path):
    path = tmp_path / "verdicts.csv"
    path.write_text("tool,file,line,code,verdict,reason\nmldoct,a.py,1,missing_eval,maybe,who knows\n")
    with pytest.raises(ValueError, match="maybe"):
        compare.read_verdicts(path)


def test_markdown():
    assert compare.table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert compare.percent(1, 3) == "1 of 3 (33%)"
    assert compare.percent(0, 0) == "-"


def test_the_whole_table(tmp_path, monkeypatch, capsys):
    corpus(tmp_path / "corpus", "caught", "missed")
    (tmp_path / "labels.json").write_text(json.dumps([label("caught", 101, 3), label("missed", 202, 3)]))
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "a.py").write_text("import torch\n" * 100)
    (tmp_path / "peer_codes.toml").write_text("[torch-preflight]\nTG003 = [101]\nTG004 = [601]\n")
    (tmp_path / "verdicts.csv").write_text(
        "tool,file,line,code,verdict,reason\ntorch-preflight,examples/a.py,1,TG003,true,so\n"
    )
    runs = {
        "corpus": Run([Finding("corpus/caught/before/train.py", 3, "TG003", "error", "grows")], [], 2.0),
        "trusted": Run([Finding("examples/a.py", 1, "TG003", "error", "grows"),
                        Finding("examples/a.py", 9, "TG004", "note", "starves")], [], 0.5),
    }
    monkeypatch.setattr(compare, "HERE", tmp_path)
    monkeypatch.setattr(
        compare, "collect", lambda tool, *rest: ("0.5.0", runs) if tool == "torch-preflight" else None
    )
    monkeypatch.setattr(sys, "argv", [
        "compare.py", "--corpus", str(tmp_path / "corpus"), "--labels", str(tmp_path / "labels.json"),
        "--trusted", str(tmp_path / "examples"),
    ])
    compare.main()
    text = (tmp_path / "COMPARISON.md").read_text()
    assert "| torch-preflight | 0.5.0 | 1 | 1 of 2 (50%) | 1 of 1 (100%) | 0 of 0 | 0 of 0 | 2 | 0 |" in text
    assert "| torch-preflight | 2 | 1 | 0 | 0 | 1 | 1 of 2 (50%) | 0 | 200 | 0 |" in text
    assert "| torch-preflight, without notes | 1 | 1 | 0 | 0 | 0 | 1 of 1 (100%) | 0 | 200 | 0 |" in text
    assert "trainlint: pip found no such package." in text
    assert "not read: torch-preflight,examples/a.py,9,TG004" in capsys.readouterr().out


def test_seconds_that_nobody_measured():
    assert compare.cpu(Run([], [], 0.0)) == "-"
    assert compare.cpu(Run([], [], 12.4)) == "12"
