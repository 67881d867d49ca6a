"""The sieve loses nothing: with and without it, the same is found."""

import pytest

from torchlint.catalogue import catalogue
from torchlint.dryrun.roots import Relevance
from torchlint.engine import Engine
from torchlint.sieve import may_matter, read_facts, split_lines

from . import test_calls, test_classes, test_loops, test_values
from .support import IMPORTS, ROOT

RULES = list(catalogue())
WITH, WITHOUT = Engine(RULES, sieve=True), Engine(RULES, sieve=False)
PAGES = {
    f"{page.code}-line{block.line}": block.code
    for page in RULES
    for block in page.examples()
}
FILES = {
    str(path.relative_to(ROOT)): path
    for folder in ("fixtures/lint", "fixtures/torchsan", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
}
SNIPPETS = {
    f"{name}-{key}": IMPORTS + code
    for name, cases in {
        "certain": test_values.CERTAIN, "uncertain": test_values.UNCERTAIN, "inlined": test_calls.INLINED,
        "quiet": test_calls.QUIET, "objects": test_classes.OBJECTS, "carried": test_loops.CARRIED,
    }.items()
    for key, code in cases.items()
}  # fmt: skip


def test_there_is_something_to_compare():
    assert len(PAGES) > 100 and len(FILES) > 40 and len(SNIPPETS) > 80


@pytest.mark.parametrize("text", list(PAGES.values()), ids=list(PAGES))
def test_pages(text):
    assert WITH.check("page.py", text).findings == WITHOUT.check("page.py", text).findings


@pytest.mark.parametrize("path", list(FILES.values()), ids=list(FILES))
def test_programs(path):
    text = path.read_text(encoding="utf-8")
    assert WITH.check(str(path), text).findings == WITHOUT.check(str(path), text).findings


@pytest.mark.parametrize("text", list(SNIPPETS.values()), ids=list(SNIPPETS))
def test_snippets(text):
    assert WITH.check("snippet.py", text).findings == WITHOUT.check("snippet.py", text).findings


def test_files_without_torch_are_left_at_once():
    assert not may_matter("import numpy\n") and not may_matter("")
    assert may_matter("import torch\n") and may_matter("from accelerate import Accelerator\n")
    assert may_matter("x = '\udcff'\nimport torch\n"), "a lone surrogate is no reason to stop"


def test_lines_break_where_python_breaks_them():
    assert split_lines("a\r\nb\rc\x0cd\n") == ["a\n", "b\n", "c\x0cd\n", "\n"]


def test_what_one_look_tells():
    facts = read_facts("a.py", """import os, numpy as np
from . import one
from ..two.three import four as five
from six import *
try:
    import seven
except ImportError:
    from eight import seven
    seven.x = 1
def f(a, /, b, *, c): return a.step(b)
x: int = 3
y, z = 1, 2
class A(np.B, metaclass=M):
    k = nn.Linear()
    @property
    def p(self): self.q = best_state()
    @p.setter
    def p(self, value): pass
    class C: pass
    def __init__(self): self.r, self.s = [1], []; self.s = []
    def add(self, one): self.s.append(one)
class D: pass
async def g(): ...
""")  # fmt: skip
    assert facts.imports == {
        "os": "os", "np": "numpy", "one": ".one", "five": "..two.three.four", "seven": "eight.seven",
    }  # fmt: skip
    assert facts.stars == ["six"]
    assert set(facts.functions) == {"f", "g"} and set(facts.classes) == {"A", "D"}
    assert facts.functions["f"].params == ("a", "b") and facts.functions["f"].words >= {"step", "a", "b"}
    assert facts.functions["g"].is_async and not facts.functions["f"].is_async
    cls = facts.classes["A"]
    assert cls.bases == ("np.B",) and cls.keywords == ("metaclass",) and set(cls.classes) == {"C"}
    assert set(cls.methods) == {"p", "__init__", "add"} and cls.methods["p"].sets == {"q"}
    assert "!init" in cls.methods["__init__"].words and "!container" in cls.methods["__init__"].words
    assert [unit.gives for unit in cls.body] == [{"k": frozenset({"Linear"})}]
    assert [item if isinstance(item, str) else item.binds for item in facts.body] == [
        set(), set(), "f", {"x", "y", "z"}, "A", "D", "g",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\0'\n", "x = " + "(" * 400 + ")" * 400, "if x:\npass\n"])
def test_what_does_not_parse_is_a_syntax_error(text):
    with pytest.raises(SyntaxError):
        read_facts("a.py", text)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.lint != "none"], ids=lambda rule: str(rule.code))
def test_one_rule_alone(rule):
    """With `--select TL202`, no other rule's words bring a stretch of the file in."""
    alone, whole = Engine([rule], sieve=True), Engine([rule], sieve=False)
    for block in rule.examples():
        if rule.code == 202 and "Forecaster" in block.code:
            continue  # an evaluation by its name alone: nobody wants all functions called test_... to be run for that
        found = alone.check("page.py", block.code).findings
        assert found == whole.check("page.py", block.code).findings, f"the example in line {block.line}"


def test_what_sets_a_name_is_looked_at_once(monkeypatch):
    """Not once for each statement that mentions the name."""
    seen = []
    words = Relevance.words
    monkeypatch.setattr(Relevance, "words", lambda self, *units: seen.extend(units) or words(self, *units))
    text = IMPORTS + "try:\n    import a\nexcept ImportError:\n    a = None\n" * 50
    assert not Engine(RULES).check("a.py", text).findings
    assert 50 <= len(seen) < 150
    seen.clear()
    text = IMPORTS + "net = nn.Linear(2, 2)\n" + "".join(f"x{n} = net(x{n - 1})\n" for n in range(300))
    assert not Engine(RULES).check("a.py", text).findings
    assert 1 <= len(seen) < 10, "nor for each name that statements set together"
