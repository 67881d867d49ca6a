"""What a tree that nobody trusts can bring into a report: names and texts that a terminal, or the log reader of a CI server,
would obey. In every format."""

import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree

import pytest

from tests.torchlint.fake_engine import finding
from torchlint.findings import Edit, Fix, Location, Related
from torchlint.report import FORMATS, Context, Note, write
from torchlint.report.statistics import write as write_statistics

HOSTILE = (
    "::error::x.py",
    " \t::stop-commands::x",
    "a\n::set-output name=x::y.py",
    "a\r\n::error::b",
    "\x1b[2J\x1b]0;title\x07.py",
    "\x9b31m\x85.py",
    "\u202egnp.py",
    "zero\u200bwidth\ufeff\U000e0041.py",
    "##vso[task.setvariable variable=x]y",
    "##[error]x.py",
    "##VSO[task.complete result=Failed;]",
    "a;b]c,d=e:f%0A::error::g",
    "]]><script>alert(1)</script>&lt;\"'",
    "[bold red]x[/]`$(id)`",
)
COLOURS = re.compile("\x1b\\[[0-9;]*m")  # our own


class Terminal(io.StringIO):
    def isatty(self):
        return True


def hostile(text):
    """A finding, a problem and a note that hold a text wherever a report takes one."""
    at = Location(text, 3, 2, 3, 9)
    related = (Related(Location(text, 1), text), Related(Location("n.ipynb", 1, cell=2), text))
    fix = Fix("safe", text, (Edit(at, text, text),))
    one = finding(text, 3, 2, 9, message=text, help=text, related=related, fix=fix, details={text: text})
    other = finding(text, 3, cell=4, message=text)
    changed = "".join(f"{sign}{line}\n" for sign in "-+" for line in text.split("\n"))
    notes = [Note("judged-in-part", at, text, f"{text}: {text}"), Note("judged-in-part", None, text, text)]
    return [one, other], Context(
        lines=lambda at: text, diff=lambda finding: f"@@ -1 +1 @@\n{changed}", problems=notes, notes=notes, files=1,
        unsafe=True,
    )


def told(format, text, out):
    findings, context = hostile(text)
    write(format, findings, out, context)
    return out.getvalue()


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("format", FORMATS)
def test_nothing_is_obeyed(format, text):
    shown = told(format, text, io.StringIO())
    wrong = {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Cs") and char not in "\n\t"}
    assert not wrong
    lines = shown.split("\n")
    ours = {"github": r"::(error|notice) title=torchlint \([^)]*\)(,|::)"}.get(format)
    for line in lines:
        if line.lstrip().startswith("::"):
            assert ours and re.match(ours, line)
    assert len([line for line in lines if line.startswith("::")]) == (6 if ours else 0)
    assert len(re.findall(r"##(?:vso)?\[", shown, re.IGNORECASE)) == (6 if format == "azure" else 0)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_is_obeyed_on_a_terminal(text, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = COLOURS.sub("", told("full", text, Terminal()))
    assert not {char for char in shown if not char.isprintable() and char not in "\n\t"}


@pytest.mark.parametrize("text", HOSTILE)
def test_readers_of_data_get_what_is_there(text):
    """What JSON and XML can hold they hold: the escapes are of the writing alone."""
    assert json.loads(told("json", text, io.StringIO()))[0]["message"] == text
    assert json.loads(told("json-lines", text, io.StringIO()).split("\n")[0])["filename"] == text
    assert json.loads(told("gitlab", text, io.StringIO()))[0]["location"]["path"] == text
    assert json.loads(told("rdjson", text, io.StringIO()))["diagnostics"][0]["location"]["path"] == text
    assert json.loads(told("sarif", text, io.StringIO()))["runs"][0]["results"][1]["message"]["text"].startswith(text)
    top = ElementTree.fromstring(told("junit", text, io.StringIO()))
    assert top[0].get("name") == re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "\ufffd", text)


def test_statistics_have_no_names_of_files():
    out = io.StringIO()
    findings, context = hostile("\x1b")
    write_statistics(findings, out, context)
    assert out.getvalue() == "2  TL101  missing-zero-grad\n"
