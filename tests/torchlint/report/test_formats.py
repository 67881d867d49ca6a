"""The formats of other tools, [*] on what can be mended, and how wide a report is."""

import io
import json

import pytest

from tests.torchlint.fake_engine import finding
from torchlint.findings import Edit, Fix, Location, Related, Severity
from torchlint.report import FORMATS, Context, Note, write


def fix(applicability, row=3):
    return Fix(applicability, "add the parentheses", (Edit(Location("é.py", row, 9, row, 9), "()"),))


MANY = (
    finding("é.py", 3, 9, 12, fix=fix("safe"), related=(Related(Location("é.py", 5, 1), "steps here"),)),
    finding("é.py", 10, 1, 4, fix=fix("unsafe", 10), severity=Severity.WARNING, help="", url=""),
    finding("n.ipynb", 2, 1, 4, cell=7, severity=Severity.NOTE),
)
PROBLEM = Note("not-judged", Location("b.py", 2), "does not parse", "b.py:2: does not parse")
PART = Note("judged-in-part", Location("c.py", 1), "too large", "c.py:1: too large")


def told(format, *findings, out=None, **context):
    out = out or io.StringIO()
    write(format, findings, out, Context(lines=lambda at: "é = 1; loss.backward", problems=[PROBLEM], notes=[PART], **context))
    return out.getvalue()


def test_concise_marks_what_is_fixable():
    text = "`loss.backward()` adds to the gradients of the last step"
    rest = [f"n.ipynb:cell 7:2:1: TL101 {text}", "b.py:2:1: not-judged does not parse", "c.py:1:1: judged-in-part too large"]
    assert told("concise", *MANY).splitlines() == [f"é.py:3:9: TL101 [*] {text}", f"é.py:10:1: TL101 {text}", *rest]
    unsafe = told("concise", *MANY, unsafe=True, aside=True).splitlines()
    assert unsafe == [f"é.py:3:9: TL101 [*] {text}", f"é.py:10:1: TL101 [*] {text}", rest[0]]


def test_grouped():
    assert told("grouped", *MANY, aside=True) == """\
é.py:
  3:9  TL101 [*] `loss.backward()` adds to the gradients of the last step
  10:1 TL101 `loss.backward()` adds to the gradients of the last step

n.ipynb:
  cell 7:2:1 TL101 `loss.backward()` adds to the gradients of the last step

"""


@pytest.mark.parametrize(
    ("findings", "unsafe", "line"),
    [
        (MANY, False, "[*] 1 fixable with --fix, 1 more with --unsafe-fixes."),
        (MANY, True, "[*] 2 fixable with --fix --unsafe-fixes."),
        (MANY[:1], False, "[*] 1 fixable with --fix."),
        (MANY[1:], False, "[*] 1 fixable with --fix --unsafe-fixes."),
        (MANY[2:], False, "Found 1 note in 3 files."),
    ],
)
def test_full_says_how_much_is_fixable(findings, unsafe, line):
    assert told("full", *findings, files=3, unsafe=unsafe, aside=True).splitlines()[-1].replace("1 of ", "") == line


def test_full_says_what_a_fix_does():
    shown = told("full", *MANY[:2])
    assert "error TL101 missing-zero-grad [*]\n" in shown and "warning TL101 missing-zero-grad\n" in shown
    assert "fix: add the parentheses (--fix)\n" in shown
    assert "fix: add the parentheses (--fix --unsafe-fixes)\n" in shown
    assert "b.py:2:1: not-judged does not parse" in shown


def test_agent():
    diff = {3: "@@ -3 +3 @@\n-loss.backward\n+loss.backward()\n"}
    assert told("agent", *MANY, files=3, diff=lambda one: diff.get(one.location.row)) == """\
é.py:3:9: error TL101 `loss.backward()` adds to the gradients of the last step; 5: steps here; \
help: call `optimizer.zero_grad()` once per step
  fix (--fix): add the parentheses
  @@ -3 +3 @@
  -loss.backward
  +loss.backward()
é.py:10:1: warning TL101 `loss.backward()` adds to the gradients of the last step
  fix (--fix --unsafe-fixes): add the parentheses
n.ipynb:cell 7:2:1: note TL101 `loss.backward()` adds to the gradients of the last step
b.py:2:1: not-judged does not parse
c.py:1:1: judged-in-part too large
3 findings in 3 files. 1 fixable with --fix, 1 more with --unsafe-fixes. Why, and when it is right: torchlint explain TL101
"""
    assert told("agent", files=2) == (
        "b.py:2:1: not-judged does not parse\nc.py:1:1: judged-in-part too large\n"
        "no findings in what could be judged of 2 files\n"
    )


def test_json_has_the_problems_of_the_run():
    objects = json.loads(told("json", *MANY))
    assert [(item["code"], item["severity"]) for item in objects[3:]] == [("not-judged", "error"), ("judged-in-part", "note")]
    assert objects[3]["filename"] == "b.py" and objects[3]["location"]["row"] == 2
    assert [json.loads(line) for line in told("json-lines", *MANY).splitlines()] == objects


def test_github_and_azure_have_the_problems_of_the_run():
    assert "::error title=torchlint (not-judged),file=b.py,line=2::b.py:2: does not parse\n" in told("github")
    azure = told("azure", *MANY).splitlines()
    assert azure[0] == (
        "##vso[task.logissue type=error;sourcepath=é.py;linenumber=3;columnnumber=9;code=TL101;]"
        "`loss.backward()` adds to the gradients of the last step"
    )
    assert azure[2].startswith("##vso[task.logissue type=warning;sourcepath=n.ipynb;code=TL101;]cell 7, line 2: ")
    assert azure[3] == "##vso[task.logissue type=error;sourcepath=b.py;linenumber=2;code=not-judged;]does not parse"


def test_pylint():
    lines = told("pylint", *MANY).splitlines()
    assert lines[0] == "é.py:3: [TL101] `loss.backward()` adds to the gradients of the last step"
    assert lines[2].startswith("n.ipynb:1: [TL101] cell 7, line 2: ")
    assert lines[3] == "b.py:2: [not-judged] does not parse"


def test_gitlab():
    first, second, third, problem, part = json.loads(told("gitlab", *MANY))
    assert first["location"] == {
        "path": "é.py", "positions": {"begin": {"line": 3, "column": 9}, "end": {"line": 3, "column": 12}},
    }
    assert [item["severity"] for item in (first, second, third, problem, part)] == [
        "major", "minor", "info", "blocker", "info",
    ]
    assert third["description"].startswith("cell 7, line 2: TL101: ")
    assert len({item["fingerprint"] for item in (first, second, third, problem, part)}) == 5


def test_rdjson_counts_columns_in_bytes():
    result = json.loads(told("rdjson", *MANY))
    assert result["source"]["name"] == "torchlint"
    first, second, third, problem, part = result["diagnostics"]
    assert first["location"]["range"] == {"start": {"line": 3, "column": 10}, "end": {"line": 3, "column": 13}}
    assert first["suggestions"] == [
        {"range": {"start": {"line": 3, "column": 10}, "end": {"line": 3, "column": 10}}, "text": "()"}
    ]
    assert first["relatedLocations"][0]["message"] == "steps here"
    assert "range" not in third["location"] and third["message"].startswith("cell 7, line 2: ")
    assert (problem["severity"], problem["code"]["value"], part["severity"]) == ("ERROR", "not-judged", "INFO")


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"full", "concise", "grouped"}))
def test_what_went_wrong_reaches_every_format(format):
    assert "does not parse" in told(format, aside=True) and "too large" in told(format, aside=True)


@pytest.mark.parametrize("format", ["full", "concise", "grouped"])
def test_people_are_told_once(format):
    assert "does not parse" not in told(format, aside=True)
    assert "does not parse" in told(format) and "too large" in told(format)


class Terminal(io.StringIO):
    def isatty(self):
        return True


LONG = finding("é.py", 3, 1, 4, message=" ".join(["word"] * 60))


def widest(monkeypatch, out, **environment):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    return max(map(len, told("full", LONG, out=out).splitlines()))


def test_a_log_in_colours_is_not_wrapped(monkeypatch):
    assert widest(monkeypatch, io.StringIO(), FORCE_COLOR="1") > 300
    assert widest(monkeypatch, io.StringIO(), FORCE_COLOR="1", COLUMNS="100") < 130  # with the colours
    assert widest(monkeypatch, Terminal()) < 110
