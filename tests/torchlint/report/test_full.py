"""The reports for people: full and concise."""

import io
import re

import pytest
from rich.cells import cell_len

from tests.torchlint.fake_engine import finding
from torchlint.findings import Location, Related, Severity
from torchlint.report import Context, Note, clean, write

SOURCE = {
    "train.py": [
        "for x, y in loader:",
        "    loss = crit(net(x), y)",
        "    loss.backward()",
        "    x = 1",
        "    optimizer.step()",
        "",
        "    tab\t= 1",
        "s = '漢字'; bad()",
        "z = '" + "y" * 300 + "'; bad(1)",
    ],
    "other.py": ["def f():", "    return 1"],
}


def lines(location):
    rows = SOURCE.get(location.filename, [])
    return rows[location.row - 1] if 0 < location.row <= len(rows) else None


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def told(*findings, format="full", out=None, **context):
    out = out or io.StringIO()
    write(format, findings, out, Context(lines=lines, **context))
    return out.getvalue()


def related(filename, row, message, column=5, end=10, cell=None):
    return Related(Location(filename, row, column, row, end, cell), message)


def test_finding_with_the_other_line_that_matters():
    one = finding(row=3, column=5, end_column=20, related=(related("train.py", 5, "steps here", 5, 21),))
    assert told(one) == """\
error TL101 missing-zero-grad
  `loss.backward()` adds to the gradients of the last step
  ╭─ train.py:3:5
  │
3 │     loss.backward()
  │     ^^^^^^^^^^^^^^^
4 │     x = 1
5 │     optimizer.step()
  │     ---------------- steps here
  │
  ├─ help: call `optimizer.zero_grad()` once per step
  ╰─ see: https://torchlint.readthedocs.io/rules/101-missing-zero-grad

"""


def test_earlier_line_stands_first_and_gaps_are_shown():
    one = finding(
        row=5, column=5, end_column=21, related=(related("train.py", 1, "loops here", 1, 4),), help="", url=""
    )
    assert told(one).splitlines()[2:] == [
        "  ╭─ train.py:5:5",
        "  │",
        "1 │ for x, y in loader:",
        "  │ --- loops here",
        "  ┆",
        "5 │     optimizer.step()",
        "  │     ^^^^^^^^^^^^^^^^",
        "  │",
        "",
    ]


def test_same_row_and_other_files():
    one = finding(
        row=3,
        column=5,
        end_column=20,
        help="",
        url="",
        related=(
            related("other.py", 2, "returned here", 5, 13),
            related("train.py", 3, "again", 5, 9),
            related("gone.py", 7, "was here"),
        ),
    )
    assert told(one).splitlines()[2:] == [
        "  ╭─ train.py:3:5",
        "  │",
        "3 │     loss.backward()",
        "  │     ^^^^^^^^^^^^^^^",
        "  │     ---- again",
        "  ├─ other.py:2:5",
        "  │",
        "2 │     return 1",
        "  │     -------- returned here",
        "  ├─ gone.py:7:5",
        "  │ line 7: was here",
        "  │",
        "",
    ]


def test_notebooks_name_the_cell():
    one = finding("n.ipynb", 2, 1, 4, cell=7)
    assert "╭─ n.ipynb:cell 7:2:1" in told(one)
    assert (
        told(one, format="concise")
        == "n.ipynb:cell 7:2:1: TL101 `loss.backward()` adds to the gradients of the last step\n"
    )


def test_findings_of_live_runs():
    one = finding(row=3, step=12, count=40, ranks=(0, 3), details={"max": 1.5}, code="TS101")
    text = told(one, tool="torchsan")
    assert "├─ seen: first at step 12, 40 times, on ranks 0, 3" in text
    assert "├─ values: max = 1.5" in text
    assert "on rank 2\n" in told(finding(ranks=(2,)))


def test_carets_stand_below_what_they_mean():
    tab = told(finding(row=7, column=9, end_column=10)).splitlines()
    assert tab[4][tab[5].index("^")] == "=" and "\t" not in tab[4]
    wide = told(finding(row=8, column=11, end_column=16)).splitlines()
    assert cell_len(wide[4][: wide[4].index("bad")]) == cell_len(wide[5][: wide[5].index("^")])
    assert wide[5].count("^") == 5
    assert told(finding(row=3, column=99, end_column=120)).splitlines()[5].endswith("^")
    assert told(finding(row=6)).splitlines()[5] == "  │ ^"


def test_stretch_over_several_rows_is_marked_to_the_end_of_its_first():
    one = finding(row=3)
    at = Location("train.py", 3, 5, 5, 9)
    assert told(type(one)("TL101", "n", "m", at, "correctness")).splitlines()[5] == "  │     ^^^^^^^^^^^^^^^"


@pytest.mark.parametrize("width", [None, 80, 120])
def test_long_lines_are_cut_around_the_stretch(width, monkeypatch):
    out = None
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
        out = Terminal()
    shown = uncoloured(told(finding(row=9, column=309, end_column=314), out=out)).splitlines()
    source, under = next((line, shown[at + 1]) for at, line in enumerate(shown) if line.startswith("9 │"))
    assert "…" in source and "bad(1)" in source
    assert source[under.index("^"):].startswith("bad(1)") and under.count("^") == 5
    assert len(source) <= (width or 160)
    source = uncoloured(told(finding(row=9, column=1, end_column=2), out=Terminal() if width else None))
    assert "9 │ z = 'yyy" in source and "y…\n" in source


def uncoloured(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminal_gets_colours_and_its_width_is_kept(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    long = "`x` " + "says a lot about what went wrong " * 8
    one = finding(row=3, column=5, end_column=20, message=long, help=long, related=(related("train.py", 5, long),))
    text = told(one, out=Terminal(), files=3)
    assert "\x1b[1;31merror" in text
    shown = uncoloured(text).splitlines()
    assert max(cell_len(line) for line in shown if "see:" not in line) <= width
    assert " ".join(" ".join(shown).split()).count("about what went wrong says a lot") >= 15
    assert shown[-1] == "Found 1 error in 1 of 3 files."


@pytest.mark.parametrize(
    ("variables", "out", "coloured"),
    [
        ({}, Terminal, True),
        ({}, io.StringIO, False),
        ({"NO_COLOR": "1"}, Terminal, False),
        ({"TERM": "dumb"}, Terminal, False),
        ({"FORCE_COLOR": "1"}, io.StringIO, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, Terminal, False),
    ],
)
def test_when_to_colour(monkeypatch, variables, out, coloured):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in told(finding(row=3), out=out())) is coloured


def test_terminal_without_these_letters_gets_others():
    class Ascii(io.StringIO):
        encoding = "ascii"

    out = Ascii()
    text = told(finding(row=3, column=5, end_column=9, related=(related("other.py", 2, "x"),)), out=out)
    assert text.isascii()
    assert "  --> train.py:3:5\n" in text and "  ::: other.py:2:5\n" in text and "  = help: call" in text


def test_nothing_takes_over_the_terminal():
    nasty = "\x1b]0;owned\x07"
    SOURCE["nasty\n.py"] = [f"x = '{nasty}\t'"]
    one = finding("nasty\n.py", message=f"a{nasty}\nb", help=nasty, details={"x": nasty})
    for format in ("full", "concise"):
        text = told(one, format=format)
        assert "\x1b" not in text and "\x07" not in text
    assert told(one, format="concise").count("\n") == 1
    assert clean("tab\tok é") == "tab\tok é"


def test_markup_is_text(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "[red]x[/red] :smile:" in uncoloured(told(finding(message="[red]x[/red] :smile:")))


@pytest.mark.parametrize(
    ("findings", "context", "line"),
    [
        ((), {"files": 1}, "No mistakes found in 1 file."),
        ((), {"files": 1234}, "No mistakes found in 1,234 files."),
        ((), {"files": 2, "problems": [Note("not-judged", None, "x", "x")], "aside": True}, "No mistakes found in what could be judged of 2 files."),
        (("error", "error", "warning", "note"), {"files": 9}, "Found 2 errors, 1 warning and 1 note in 1 of 9 files."),
        (("note", "note"), {"files": 1}, "Found 2 notes in 1 file."),
    ],
)
def test_last_line(findings, context, line):
    made = [finding(row=1, severity=Severity(word)) for word in findings]
    assert told(*made, **context).splitlines()[-1] == line
    assert line not in told(*made, problems=context.get("problems", ()))


def test_concise():
    assert told(finding(row=3, column=5), finding("b.py", 1, code="TL103"), format="concise") == (
        "train.py:3:5: TL101 `loss.backward()` adds to the gradients of the last step\n"
        "b.py:1:1: TL103 `loss.backward()` adds to the gradients of the last step\n"
    )


def test_what_is_said_very_often_is_shown_three_times():
    """All places are named: none is left out."""
    text = told(*(finding(row=row) for row in range(1, 49)))
    assert text.count("error TL101") == 3
    assert "TL101 missing-zero-grad: the same in 45 more places: `loss.backward()` adds" in text
    rows = ", ".join(map(str, range(4, 49)))
    assert f"  train.py:{rows}\n" in text
    assert told(*(finding(row=row) for row in range(1, 9))).count("error TL101") == 8
