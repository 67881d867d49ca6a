"""The sieve loses nothing, nor does the scout: with and without them, the same is found."""

import gc

import pytest

from tests.torchlint.dryrun import test_calls, test_classes, test_loops, test_values
from tests.torchlint.dryrun.support import IMPORTS, ROOT
from torchlint.catalogue.pages import catalogue
from torchlint.dryrun.interpreter import Run
from torchlint.dryrun.relevance import Relevance
from torchlint.dryrun.world import World
from torchlint.engine import Engine
from torchlint.rules.needs import needs_of
from torchlint.sieve.may_matter import may_matter
from torchlint.sieve.reader import read_facts, split_lines

RULES = list(catalogue())
WITH, WITHOUT, UNSCOUTED = Engine(RULES, sieve=True), Engine(RULES, sieve=False), Engine(RULES, scout=False)
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
    same("page.py", text)


@pytest.mark.parametrize("path", list(FILES.values()), ids=list(FILES))
def test_programs(path):
    same(str(path), path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", list(SNIPPETS.values()), ids=list(SNIPPETS))
def test_snippets(text):
    same("snippet.py", text)


def same(path, text):
    verdict = WITH.check(path, text)
    assert verdict == UNSCOUTED.check(path, text)
    assert verdict.findings == WITHOUT.check(path, text).findings


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


PROJECT = {
    "loading.py": """import torch
def fetch(model, path):
    result = model.load_state_dict(torch.load(path))
    return result
def put(model, path):
    model.load_state_dict(torch.load(path))
def build(make, **options):
    model = make(**options)
    return fetch(model, "weights.pt")
def judge(model, loader):
    for x, y in loader:
        print(model(x).argmax(1) == y)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.drop = torch.nn.Linear(3, 3), torch.nn.Dropout()
    def forward(self, x):
        return self.drop(self.layer(x))
""",
    "here.py": """from loading import Net, put
def main(batches):
    net = Net()
    put(net, "weights.pt")
    return [net(x) for x in batches]
""",
    "there.py": """from loading import Net, judge, put
def main(batches):
    net = Net()
    put(net, "weights.pt")
    judge(net, batches)
""",
    "result.py": """from loading import Net, fetch
def main(x):
    net = fetch(Net(), "weights.pt")
    return net(x)
""",
    "method.py": """from loading import Net, fetch
def main():
    net = fetch(Net(), "weights.pt")
    net.eval()
""",
    "maker.py": """import torch
from loading import Net, build
def small():
    return build(Net)
def large():
    return build(Net)
""",
}


@pytest.fixture
def project(tmp_path):
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(("name", "code"), [("here.py", 207), ("there.py", 207), ("result.py", 906), ("method.py", 906), ("maker.py", 0)])
def test_weights_are_loaded_in_another_file(project, name, code):
    rules = [rule for rule in RULES if rule.code == code]  # alone: no other rule's words bring the file in
    engines = (Engine(rules or RULES, roots=[str(project)], sieve=sieve) for sieve in (True, False))
    with_it, without = (engine.check(str(project / name), "import torch\n" + PROJECT[name]).findings for engine in engines)
    assert with_it == without
    assert (code in {finding.number for finding in with_it}) is bool(code)


def test_what_only_builds_a_model_is_not_run(project, monkeypatch):
    """As the functions of a model zoo: that somewhere else weights are loaded is no matter here."""
    roots = []
    run = Run.run_root_function
    monkeypatch.setattr(Run, "run_root_function", lambda self, func, *rest: roots.append(func.name) or run(self, func, *rest))
    engine = Engine([rule for rule in RULES if rule.code in (207, 904, 906)], roots=[str(project)])
    engine.check(str(project / "maker.py"), PROJECT["maker.py"])
    assert roots == []
    engine.check(str(project / "here.py"), "import torch\n" + PROJECT["here.py"])
    assert "main" in roots


def test_a_forward_is_no_reason_to_look_for_methods_that_stand_in(monkeypatch):
    ran = []
    run = Run.run_method
    monkeypatch.setattr(Run, "run_method", lambda self, func, *rest: ran.append(func.name) or run(self, func, *rest))
    engine = Engine([rule for rule in RULES if rule.code == 521])
    net = "from torch import nn\n\n\nclass Net(nn.Module):\n    def {}(self, x):\n        return x\n"
    assert not engine.check("net.py", net.format("forward")).findings and ran == []
    assert [one.number for one in engine.check("other.py", net.format("children")).findings] == [521]


def test_a_load_that_is_loose_is_found_in_its_own_file(project, monkeypatch):
    helper = "import torch\ndef some(model, path):\n    model.load_state_dict(torch.load(path), strict=False)\n"
    (project / "helper.py").write_text(helper)
    engine = Engine([rule for rule in RULES if rule.code == 907], roots=[str(project)])
    assert [finding.location.row for finding in engine.check(str(project / "helper.py"), helper).findings] == [3]
    monkeypatch.setattr(Run, "run_root_function", lambda *given: pytest.fail("nothing here is of interest"))
    engine.check(str(project / "use.py"), "import torch\nfrom helper import some\ndef main(net):\n    some(net, 'a')\n")


def test_what_may_be_a_model_is_marked():
    def marked(text):
        return {name for name, unit in read_facts("a.py", text).functions.items() if "!calls" in unit.words}

    assert marked("def f(model, x): return model(x)\ndef g(x): return net(x)\n") == {"f", "g"}
    assert marked("def f(self, x): return self.a(x)\ndef g(t, x): return t.encoder(x)\ndef h(m, x): return m[0](x)\n") == {"f", "g", "h"}
    assert not marked("import a\ndef f(x): return g(x), a(x), len(x)\ndef g(x, key_fn): return key_fn(x), Net(x), model(), x.append(x)\n")


def test_runs_leave_nothing_for_the_garbage_collector():
    """What is left in circles costs a fifth of the time of a run over many files, and twice the memory."""
    text = PROJECT["loading.py"] + """
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def inner(x, scale=0.5):
    def twice(y):
        return y * 2.0 if x is not None else None
    return [twice(item) * scale for item in range(3)] + [lambda: twice(x)]
for x, y in torch.utils.data.DataLoader([]):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if inner(x):
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    engine = Engine(RULES)
    assert engine.check("a.py", text).findings is not None
    gc.collect()
    gc.disable()
    try:
        engine.check("b.py", text)
        left = gc.collect()
    finally:
        gc.enable()
    assert left < 100


def test_a_file_is_not_read_through_for_each_of_its_functions(monkeypatch):
    class Lines(list):
        read = 0

        def __iter__(self):
            Lines.read += 1
            return super().__iter__()

    monkeypatch.setattr("torchlint.sieve.reader.split_lines", lambda text: Lines(split_lines(text)))
    code = "model = nn.Linear(2, 2)\n" + "".join(f"def f{n}(o, x):\n    o.step()\n    model(x).sum().backward()\n" for n in range(30))
    Engine(RULES).check("a.py", IMPORTS + code)
    assert Lines.read < 10


def test_the_bases_of_a_class_are_put_in_order_once():
    facts = read_facts("a.py", "import torch\nclass A(torch.nn.Module): pass\nclass B(A): pass\nclass C(B, A): pass\n")
    run = Run(World())
    run.frame = run.Frame(facts)
    cls = run.class_of(facts, facts.classes["C"])
    assert [item.name for item in cls.mro()] == ["C", "B", "A", "torch.nn.Module"]
    assert cls.mro() is cls.mro()
    circle = read_facts("b.py", "".join(f"class A{n}(A{(n + 1) % 3}):\n    x = A{n}.y\n" for n in range(3)))
    names = [[item.name for item in run.class_of(circle, circle.classes[f"A{n}"]).mro()] for n in range(3)]
    assert names == [["A0", "A1", "A2"], ["A1", "A2", "A0"], ["A2", "A0", "A1"]]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_says_what_it_needs(rule):
    """One that does not has every unit of every file run."""
    assert () not in needs_of([rule])
