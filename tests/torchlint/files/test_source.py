"""Files to text, notebooks to text, and `# noqa`."""

import gc
import json
import sys
from types import SimpleNamespace

import pytest

from tests.torchlint.fake_engine import finding
from torchlint.files.limits import MAX_CHARACTERS
from torchlint.files.parse import parse_source
from torchlint.files.source import Source, SourceError
from torchlint.findings import Location
from torchlint.run.noqa import Noqa


def text_of(raw):
    return parse_source("x.py", raw).text


def trouble(raw, name="x.py"):
    with pytest.raises(SourceError) as caught:
        parse_source(name, raw)
    return caught.value.problem


def test_encodings():
    assert text_of("x = 'é'\n".encode()) == "x = 'é'\n"
    assert text_of(b"\xef\xbb\xbfx = 1\n") == "x = 1\n"
    assert text_of("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1")).endswith("'é'\n")
    assert text_of("#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nx = '€'\n".encode("cp1252")).endswith("'€'\n")
    assert text_of(b"") == ""
    assert text_of(b"\xef\xbb\xbf\xef\xbb\xbfx = 1\n") == "\ufeffx = 1\n"  # no Python, and columns as they are


def test_declaration_counts_only_in_the_first_two_rows():
    assert trouble("x = 1\ny = 2\n# coding: latin-1\nz = 'é'\n".encode("latin-1")).row == 4


def test_line_ends_become_newlines_and_form_feeds_stay():
    assert text_of(b"a = 1\r\nb = 2\rc = 3\n\x0cd = 4\n") == "a = 1\nb = 2\nc = 3\n\x0cd = 4\n"
    assert parse_source("x.py", b"a\x0cb\n\xe2\x80\xa8c\n").lines() == ["a\x0cb", "\u2028c", ""]


@pytest.mark.parametrize(
    ("raw", "row", "words"),
    [
        (b"x = 1\ny = '\xe9'\n", 2, "byte 0xe9 is not utf-8"),
        (b"# coding: klingon\nx = 1\n", 1, "unknown encoding: klingon"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "encoding problem"),
        (b"x = 1\n\ny\0z\n", 3, "NUL"),
        ("x = 1\n".encode("utf-16"), 1, "UTF-16"),
    ],
)
def test_what_cannot_be_decoded(raw, row, words):
    problem = trouble(raw)
    assert (problem.row, problem.filename) == (row, "x.py")
    assert words in problem.message
    assert "\n" not in problem.message


def test_files_that_are_data():
    assert "too large" in trouble(b"x = 1\n" * (MAX_CHARACTERS // 6 + 1)).message


@pytest.mark.parametrize("cells", [["x = 1\n" * (MAX_CHARACTERS // 6 + 1)], ["x = 1\n" * (MAX_CHARACTERS // 12 + 1)] * 2])
def test_notebooks_that_are_data_are_not_parsed(cells, monkeypatch):
    parsed = []
    monkeypatch.setattr("torchlint.files.notebook.ast.parse", lambda text: parsed.append(len(text)))
    with pytest.raises(SourceError, match="too large to judge: 2 million characters"):
        parse_source("x.ipynb", json.dumps({"cells": [{"cell_type": "code", "source": text} for text in cells]}).encode())
    assert len(parsed) == len(cells) - 1


def test_a_cell_of_another_language_may_be_large():
    page = "%%html\n" + "<p>" * MAX_CHARACTERS
    cells = [{"cell_type": "code", "source": text} for text in (page, "x = 1")]
    assert parse_source("x.ipynb", json.dumps({"cells": cells}).encode()).text.split() == ["x", "=", "1"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="Python 3.12 parses f-strings in proportion to their size")
def test_fstrings_that_python_needs_minutes_for():
    """Before 3.12, Python's parser takes the square of an f-string's parts."""
    assert "an f-string of so many parts" in trouble(b"y = f'" + b"{x}" * 100_000 + b"'\n").message
    assert "an f-string of so many parts" in trouble(b"y = rf" + b'"' * 3 + b"{x}'\n" * 100_000 + b'"' * 3).message
    fine = "y = f'{x}{x}'\n" * 50_000 + "z = {'a': '{}', f'': f'{x}" + "{x}" * 1000 + "'}\n" + "{}\n" * 50_000
    assert parse_source("x.py", fine.encode()).text == fine


def notebook(*cells, **more):
    """A notebook of code cells; a cell given as a pair is (type, text)."""
    made = []
    for cell in cells:
        kind, text = cell if isinstance(cell, tuple) else ("code", cell)
        made.append({"cell_type": kind, "source": text, "metadata": {}, "outputs": []})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}).encode()


def book(*cells, **more):
    return parse_source("x.ipynb", notebook(*cells, **more))


def test_garbage_is_not_collected_while_cells_are_parsed(monkeypatch):
    """800,000 assignments in a cell took 12 s with the collector on, 5 s without (found by the fuzzer)."""
    seen = []
    monkeypatch.setattr("torchlint.files.notebook.ast", SimpleNamespace(parse=lambda code: seen.append(gc.isenabled())))
    book("x = 1")
    assert seen == [False] and gc.isenabled()


def test_notebook_rows_lead_back_to_cells():
    source = book("import torch\nx = 1", ("markdown", "# Title"), ["y = 2\n", "z = 3\n"])
    assert source.text.split("\n") == ["import torch", "x = 1", "y = 2", "z = 3", "", ""]
    at = source.place(Location("x.ipynb", 4, 1, 4, 6))
    assert at == Location("x.ipynb", 2, 1, 2, 6, cell=3)
    assert source.row_of(at) == 4
    assert source.row_of(Location("x.ipynb", 9, cell=3)) == 0
    assert source.place(Location("other.py", 4)) == Location("other.py", 4)


def test_notebook_findings_are_placed_with_their_related_lines():
    source = book("a = 1", "b = 2\nc = 3")
    placed = source.place_finding(finding("x.ipynb", 3))
    assert (placed.location.cell, placed.location.row) == (2, 2)
    assert parse_source("x.py", b"a").place_finding(finding("x.py", 3)).location.row == 3


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if a:\n    !pip install torch\nx = 1", "if a:\n    pass\nx = 1"),
        ("!pip install \\\n  torch\nx = 1", "pass\n\nx = 1"),
        ("files = !ls *.py\nrest = %sql select 1", "files = get_ipython()\nrest = get_ipython()"),
        ("torch.nn?\n?torch\nloss.backward??\nx = 1", "pass\npass\npass\nx = 1"),
        ("%time loss.backward()", "pass; loss.backward()"),
        ("  %timeit -n 3 f()\n  x = 1", "pass\nx = 1"),
        ("%%time\nloss.backward()\n%cd x", "\nloss.backward()\npass"),
        ("%%bash\npip install torch\nls", "\n\n"),
        ("%%time", ""),
        ("\n%%writefile x.py\nclass A:", "\n\n"),
        # No magics: an operator, strings, a modulo that starts a row
        ("x = (a\n% b)\n!ls", "x = (a\n% b)\npass"),
        ("x = a \\\n% b\n!ls", "x = a \\\n% b\npass"),
        ("s = '''\n%no\n!no\n'''\n!ls", "s = '''\n%no\n!no\n'''\npass"),
        ("s = 'it\\'s ('  # ( '''\n!ls", "s = 'it\\'s ('  # ( '''\npass"),
        ("x = 1 # why?\n!ls", "x = 1 # why?\npass"),
        ("f({'a': [1]})\n%ls", "f({'a': [1]})\npass"),
    ],
)
def test_what_only_ipython_understands_is_put_out_of_the_way(cell, expected):
    source = book(cell)
    assert source.text.removesuffix("\n") == expected
    assert not source.problems
    assert len(source.rows) == cell.count("\n") + 1


def test_cell_that_does_not_parse_costs_only_itself():
    source = book("x = 1", "def broken(:\n  pass", "y = 2")
    assert source.text.split("\n") == ["x = 1", "", "", "y = 2", ""]
    assert source.lines() == ["x = 1", "def broken(:", "  pass", "y = 2"]
    (problem,) = source.problems
    assert (problem.cell, problem.row) == (2, 1)
    assert "this cell does not parse" in problem.message


@pytest.mark.parametrize("line, told", [
    ("x = x.cuda(async=True)", True), ("x = x.cuda(0, async = True)", True), ("x = x.cuda(]", False), ("async = 1", False),
])
def test_what_an_old_keyword_is_called_now_is_said(line, told):
    (problem,) = book(line).problems
    assert ("non_blocking" in problem.message) is told


def test_cell_with_a_nul_is_no_python():
    """Nor for IPython. Judged without it, columns would not be those of the file."""
    source = book("x = 1", "y = 2\n\0model.eval", "%%bash\n\0")
    assert source.text == "x = 1\n\n\n\n\n"
    assert [problem.cell for problem in source.problems] == [2]


def test_other_notebooks():
    julia = {"kernelspec": {"language": "julia", "name": "julia-1.9"}}
    assert book("x = 1\nend", metadata=julia).text == ""
    assert book("x = 1", metadata={"language_info": {"name": "python"}}).text == "x = 1\n"
    assert book("x = 1", metadata={"kernelspec": 3}).text == "x = 1\n"
    old = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"]}]}], "nbformat": 3}).encode()
    assert parse_source("x.ipynb", old).text == "x = 1\n"
    assert book().text == ""


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"[]", "broken notebook: expected `object`"),
        (b'{"cells": 3}', "broken notebook"),
        (b'{"metadata": {}}', "no list of cells"),
        (b'{"cells": [{"cell_type": "code", "source": "\xff"}]}', "broken notebook"),
        (b"[" * 100_000, "broken notebook"),
    ],
)
def test_broken_notebooks(raw, words):
    problem = trouble(raw, "x.ipynb")
    assert words in problem.message
    assert "\n" not in problem.message


@pytest.mark.parametrize(
    ("comment", "hidden"),
    [
        ("# noqa", True),
        ("#noqa", True),
        ("# NOQA", True),
        ("# noqa: TL101", True),
        ("# noqa:TL1", True),
        ("# noqa: TL", True),
        ("# noqa: E501,TL101", True),
        ("# noqa: E501 TL101", True),
        ("# noqa: tl101", True),
        ("# noqa: missing-zero-grad", True),
        ("# type: ignore  # noqa: TL101", True),
        ("# noqa: TL101 because it is so", True),
        ("# noqa: because it is so", True),
        ("# noqa: TL102", False),
        ("# noqa: E501", False),
        ("# noqa: TL1015", False),
        ("# noqaing", False),
        ("# see noqa", False),
    ],
)
def test_noqa_on_a_row(comment, hidden):
    source = Source("x.py", f"x = 1\nbad()  {comment}\ny = 2\n")
    assert Noqa(source).hides(finding("x.py", 2)) is hidden
    assert not Noqa(source).hides(finding("x.py", 3))


def test_noqa_holds_for_all_rows_of_a_statement_and_no_further():
    source = Source(
        "x.py", "f(\n    a,\n    b,  # noqa: TL101\n)\nbad()\nfor x in y:  # noqa\n    bad()\n\nx = '''\n'''  # noqa\n"
    )
    hidden = [row for row in range(1, 11) if Noqa(source).hides(finding("x.py", row))]
    assert hidden == [1, 2, 3, 4, 6, 9, 10]


def test_noqa_counts_in_comments_only():
    source = Source("x.py", "bad('# noqa')\ns = '''\n# torchlint: noqa\n'''\n")
    assert not any(Noqa(source).hides(finding("x.py", row)) for row in (1, 2, 3))


@pytest.mark.parametrize(
    ("comment", "hidden"),
    [
        ("# torchlint: noqa", True),
        ("# torchlint:noqa: TL101", True),
        ("# torchlint: noqa: TL2, TL101", True),
        ("# flake8: noqa", True),
        ("# flake8: noqa: TL1", True),
        ("# torchlint: noqa: TL2", False),
        ("# torchlint: noqa: why not", False),
        ("x = 1  # torchlint: noqa", False),
        ("# ruff: noqa", False),
    ],
)
def test_noqa_for_a_whole_file(comment, hidden):
    assert Noqa(Source("x.py", f"import x\n{comment}\n\nbad()\n")).hides(finding("x.py", 4)) is hidden


def test_noqa_in_text_that_cannot_be_tokenized_holds_up_to_there():
    source = Source("x.py", "bad()  # noqa\nf(\n")
    assert Noqa(source).hides(finding("x.py", 1))


def test_noqa_in_a_notebook():
    source = book("x = 1", "y = 2\nbad()  # noqa: TL101")
    assert Noqa(source).hides(finding("x.ipynb", 2, cell=2))
    assert not Noqa(source).hides(finding("x.ipynb", 1, cell=2))
