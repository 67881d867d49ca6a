"""The scout's trees are those of libcst. (That nothing is lost by looking at them first is seen where the sieve is tried.)"""

import itertools
import sys
import warnings

import libcst as cst
import pytest

from tests.torchlint.dryrun.support import IMPORTS, RULES
from tests.torchlint.sieve.test_sieve import FILES, PAGES, SNIPPETS
from tests.torchlint.support import ROOT
from torchlint.catalogue.pages import catalogue
from torchlint.cli import main
from torchlint.dryrun.scout import rows
from torchlint.dryrun.scout.graft import Unlike, graft
from torchlint.dryrun.scout.makers import Odd
from torchlint.dryrun.scout.unit import Light, light
from torchlint.dryrun.source_text import Parsed, TooLong, parse, text_of
from torchlint.dryrun.tree import children
from torchlint.engine import Engine
from torchlint.sieve.facts import units_of
from torchlint.sieve.reader import read_facts

sys.path.insert(0, str(ROOT / "tools"))
from fuzzing.inputs import make  # noqa: E402
from fuzzing.seeds import read_seeds  # noqa: E402

WITH, WITHOUT = Engine(tuple(catalogue())), Engine(tuple(catalogue()), scout=False)
WRITTEN = {
    "parentheses": "x = (a)\ny = ((a) + (b)) * (c)\nz = ((a))\nw = (a).b(((c)), (d, e))\nv = (a), b\nu = ((a), b)\nt = (\n    # what\n    a\n)\n",
    "sole generator": "f(x for x in y)\ng((x for x in y))\nh(1, (x for x in y))\nk = (x for x in y)\nf (x for x in y)\n",
    "tuples": "a, = b\n(a, b) = c\n(a), b = c\nd[a, b]\nd[(a, b)]\nd[(a), b]\nd[a,]\nd[()]\nfor (i, j) in k: pass\nx = ()\nreturn_ = (a,)\n",
    "slices": "x[1:2, ::3, None, ...]\nx[:]\nx[-1:]\n",
    "strings": "a = 'b' \"c\" '''d\ne'''\nf = f'{x!r:>{w}}' 'g' f'{y}'\nh = f'{x=} {{}} \\n'\nk = rb'a' b'c'\nl = ('m'  # of\n     f'{n}'\n     'o')\n",
    "numbers": "a = 0x10 + 1_000 - 1e-3 * 2j\nb = -1\nc = True, None, ...\n",
    "logic": "a and b or not c and d and (e or f)\na < b <= c is not d not in e != f\nx if y else z\n",
    "calls": "f(*a, b, c=1, *d, **e)\nf(a=1, *b)\nf(\n    a,\n    b=(yield_),\n)(c)\n",
    "functions": "@a.b(c)\nasync def f(a, /, b: int = 1, *c, d=2, **e) -> (x): await g; return\ndef h(*, a): yield\ndef k(): yield from (yield a)\n"
    "l = lambda *a, b=1: (a, b)\n",
    "classes": "@d\nclass A(B, metaclass=C, **k):\n    x: int\n    y: int = 1\n\n    def f(self): pass; return 1\n",
    "branches": "if a: b\nelif (c):\n    d\nelse:\n    if e: f\n\nif a:\n    pass\nelse: b; c\n",
    "loops": "for a, *b in c:\n    continue\nelse:\n    d\nwhile (a := b): break\n[x for y in z if y if x for w in x]\n{a: b for a in c}\n{a for a in b}\n",
    "contexts": "with a as (b, c), d() as e.f: pass\nwith (\n    a as b,\n    c,\n):\n    d\n",
    "tries": "try:\n    a\nexcept (A, B) as e:\n    raise\nexcept C: raise D from e\nexcept:\n    pass\nelse: b\nfinally:\n    c\n",
    "small": "import a.b.c as d, e\nfrom ..f.g import (h as i, j)\nfrom . import k\nfrom l import *\na = b = c; d += 1; del e, f[0]\nassert a, b\n"
    "global x, y\ndel (a, b), c\ndel (a)\n",
    "stars": "a = [*b, c]\nd = {*b}\ne = {**f, 'g': h}\n*i, j = k\nprint(*l)\n",
    "wide": "é = 'ü'; a = (é + 'ö', ü)\nx = {'ä': (é)}\n",
    "rows": "a = b + \\\n    c\nd(\n    # (\n    (e),  # )\n    'f',\n)\n",
}


def units(text):
    """The facts of a text, and its units."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = read_facts("a.py", text)
    return facts, list(units_of(facts))


def pairs(mine, theirs):
    """The nodes of two trees, side by side."""
    todo = [(mine, theirs)]
    while todo:
        one, other = todo.pop()
        yield one, other
        if not isinstance(other, (cst.FormattedString, cst.ConcatenatedString)):
            todo += zip(children(one), children(other), strict=True)


def differences(facts, unit):
    """What a unit's two trees tell otherwise: of expressions, the text and the place; at the end, the tree that libcst's was
    put into, written out."""
    try:
        mine, theirs = light(facts, unit), Parsed(facts, unit)
    except Odd:
        return  # `match`: libcst parses that at once
    for one, other in itertools.chain.from_iterable(map(pairs, mine.body, theirs.body)):
        if isinstance(other, (cst.BaseExpression, cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            try:
                if isinstance(other, cst.BaseExpression) and not isinstance(other, cst.StarredElement):
                    if mine.text(one) != theirs.text(other):
                        yield mine.text(one), theirs.text(other)
                here, there = mine.location(one), theirs.location(other)
            except Odd:
                continue
            if (here.row, here.end_row) != (there.row, there.end_row):
                yield theirs.text(other), (here.row, here.end_row), (there.row, there.end_row)
    mine.complete()
    if mine.module.code.rstrip() != text_of(facts, unit).rstrip():
        yield "code", mine.module.code


@pytest.mark.parametrize("text", list(WRITTEN.values()), ids=list(WRITTEN))
def test_each_way_to_write(text):
    facts, found = units(text)
    for unit in found:
        assert not list(differences(facts, unit))


@pytest.mark.parametrize("text", [*PAGES.values(), *SNIPPETS.values()], ids=[*PAGES, *SNIPPETS])
def test_pages(text):
    facts, found = units(text)
    for unit in found:
        assert not list(differences(facts, unit))


@pytest.mark.parametrize("path", list(FILES.values()), ids=list(FILES))
def test_programs(path):
    text = path.read_text(encoding="utf-8")
    facts, found = units(text)
    for unit in found:
        assert not list(differences(facts, unit))


def test_what_no_person_would_write(monkeypatch):
    """The fuzzer's inputs: trees are alike or not made, and the same is found."""
    monkeypatch.setenv("TORCHLINT_DEBUG", "1")
    seeds, made = read_seeds(), 0
    for number in range(60):
        item = make(15, number, seeds, large=False)
        text = item.raw.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > 8_000:
            continue  # those of `test_fuzz.py` take long enough
        try:
            facts, found = units(text)
        except SyntaxError:
            continue
        unread = False
        for unit in found:
            try:
                mine, (theirs, _) = light(facts, unit), parse(facts, unit)
            except (Odd, cst.ParserSyntaxError, RecursionError, TooLong) as error:
                unread |= isinstance(error, cst.ParserSyntaxError)
                continue
            graft(mine.module, theirs)
            made += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scouted, alone = WITH.check("a.py", text), WITHOUT.check("a.py", text)
            if unread and alone.in_part and not scouted.in_part:  # a form feed before a method: Python's parser reads it, libcst does not
                assert "libcst cannot parse that" in alone.in_part[1] and set(alone.findings) <= set(scouted.findings)
            else:
                assert scouted == alone
    assert made > 20


CLEAN = IMPORTS + """
def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
WRONG = CLEAN.replace("model(x)", "model(x).softmax(1)") + """

def build(n):
    return torch.optim.SGD(nn.Linear(n, n).parameters(), lr=0.1)
"""


def parsed_by_libcst(monkeypatch, text):
    """What libcst is given to parse while a text is judged, and what is found."""
    texts, parse_module = [], cst.parse_module
    monkeypatch.setattr(cst, "parse_module", lambda text: texts.append(text) or parse_module(text))
    return texts, [finding.number for finding in Engine(RULES).check("a.py", text).findings]


def test_what_is_clean_is_not_parsed(monkeypatch):
    assert parsed_by_libcst(monkeypatch, CLEAN) == ([], [])


def test_what_is_told_was_parsed(monkeypatch):
    texts, found = parsed_by_libcst(monkeypatch, WRONG)
    assert found == [301] and [text.split("(")[0] for text in texts] == ["def train"]


@pytest.mark.parametrize("error", [Unlike, Odd, AttributeError])
def test_where_the_scout_cannot_tell_libcst_does(monkeypatch, error):
    def fail(*given):
        raise error

    monkeypatch.delenv("TORCHLINT_DEBUG", raising=False)
    monkeypatch.setattr("torchlint.dryrun.scout.unit.graft", fail)
    assert Engine(RULES).check("a.py", WRONG) == Engine(RULES, scout=False).check("a.py", WRONG)


def test_what_the_scout_does_not_know_is_parsed(monkeypatch):
    def unknown(self, node):
        raise Odd

    whole = Engine(RULES, scout=False).check("a.py", WRONG)
    monkeypatch.setattr(Light, "text", lambda self, node: Parsed.text(self, node) if self.is_whole else unknown(self, node))
    assert Engine(RULES).check("a.py", WRONG) == whole


@pytest.mark.parametrize("mine, theirs", [("a + b", "a - b"), ("f(a)", "f(*a)"), ("(a)", "a"), ("a", "b"), ("a.b", "a"), ("f(a)", "f(a, b)"),
                                          ("f'{a}'", "f'{a}{b}'"), ("from . import a", "from .. import a"), ("'a' 'b'", "'a' f'{b}'")])
def test_trees_that_differ_are_not_put_together(mine, theirs):
    facts, (unit,) = units(mine + "\n")
    with pytest.raises(Unlike):
        graft(light(facts, unit).module, cst.parse_module(theirs + "\n"))


def test_a_switch_to_compare(tmp_path, capsys):
    (tmp_path / "a.py").write_text(WRONG)
    said = []
    for options in ((), ("--no-scout",)):
        assert main([str(tmp_path), "--no-cache", "--isolated", *options]) == 1
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and "TL301" in said[0]


def test_of_a_row_before_a_parenthesis_only_the_end_is_searched(monkeypatch):
    """A name of 50,000 letters takes as many looks as it has letters, each to its end."""
    asked = []

    class Search:
        def search(self, text):
            asked.append(text)
            return last_word.search(text)

    last_word = rows._LAST_WORD
    monkeypatch.setattr(rows, "_LAST_WORD", Search())
    long = "a" * 50_000
    kept = rows.Rows([f"{long} = (1)\n", f"{long}_lambda(1)\n", "x = not (1)\n"], 0, 1, 3)
    assert asked and max(map(len, asked)) <= 10
    assert set(kept.grouped.values()) == {(1, len(long) + 3), (3, 8)}
