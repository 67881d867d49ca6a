"""Whatever parses gives findings or silence; what does not, a SyntaxError; nothing gives anything else."""

import sys

import pytest

from tests.torchlint.support import write
from torchlint.dryrun import interpreter
from torchlint.dryrun.store import MOST_ITEMS
from torchlint.dryrun.values import MOST_IN_CHAIN
from torchlint.engine import Engine
from torchlint.files.parse import parse_source

from .support import IMPORTS, RULES, found, marked, runs, table

BAD = "def bad(x, y):\n    return F.cross_entropy(x.softmax(1), y)  # <- 301\n"
TRAINING = "for x in data:\n    net(x).sum().backward()\n    optimizer.step()\n"

WEIRD = {
    "decorators": """
@registry.register("name", depth=[1, 2][0])
@torch.no_grad()
@(lambda f: f)
@a.b[0].c
class Net(nn.Module, metaclass=Meta, flag=True):
    @property
    @functools.wraps(other)
    def p(self): return 1
    @p.setter
    def p(self, value): self.v = value
    @p.deleter
    def p(self): del self.v
    @decorate(lambda x: x)
    def q(self): return self.p

net = Net()
net.p = 2
del net.p
net.q()
""",
    "async": """
async def f(data, net: nn.Module):
    async with data.lock as lock, other:
        async for x in data:
            await net(x)
        else:
            pass
    return [await g(x) async for x in data if x]

async def g():
    yield 1
    received = yield
    yield (yield 2)
""",
    "global_at_module_level": """
global net
net = nn.Linear(1, 1)
def f():
    global net, other
    other = net
    net = other
""",
    "stars": """
first, *rest = net = [1, 2, 3]
*a, b = rest
[*c], (d, *e) = [1], (2, 3)
print(*rest, *[1], **{}, **dict(a=1))
call = lambda *a, b=1, **k: (a, b, k)
call(*[1], 2, *(3,), b=2, **{"c": 3})
{**{}, "a": 1, **{"b": 2}, [1][0]: 3}
[*range(3), *net]
for x, *y in [(1, 2, 3)]:
    print(x, y)
""",
    "comparisons": """
if 1 < 2 <= x != 3 is not None in [1] not in y:
    pass
a = x < y < z
b = not x is None
assert 0 < a < 1, "message"
assert (a, "always true")
""",
    "class_in_a_function": """
def f(x):
    class A(nn.Module):
        def forward(self, x):
            class B(A): pass
            return B()(x)
    class A(A): pass
    return A()(x)
f(1)
class C(C): pass
class D(D.E): pass
C(); D()
""",
    "bodies_of_nothing": '''
def f():
    """Only words."""
class A:
    """Only words."""
class B(nn.Module): ...
def g(): ...
def h(): pass; pass;
f(), A(), B(), g(), h()
B()(1)
if f(): pass
elif g(): ...
else: pass
while f(): pass
for _ in g(): ...
else: ...
try: pass
except: pass
else: pass
finally: pass
with f(): pass
''',
    "targets": """
x.a, y[0], (z, w.b[1:2, ...]) = 1, 2, (3, 4)
x[0][1].c = x.d = 5
x[0]: int = 3
x.e: "float"
(v): int = 1
x.f += 1
x[0] += 1
x[1:2] *= 2
x @= y
del x.a, y[0], (z, w)
del v
for x.i in range(3): pass
for x[0], y.k in pairs: pass
with open("a") as x.f, open("b") as y[0], open("c") as (p, q): pass
""",
    "numbers_and_strings": """
a = 0x_ff + 0b1 + 0o7 + 1_000 + 1e400 + 1j + .5
b = "a" "b" f"c{a!r:>{10}}" rb"d" if a else b"e"
c = f"{a}{{}}{b=}" "x" + '\\ud800' + "\\N{BULLET}"
d = -+~a
e = not not a
f = 10 ** 100000 % 7 // 0
g = ... if Ellipsis else NotImplemented
h = 1 if 2 else 3 if 4 else 5
""",
    "loops_without_way": """
while True:
    pass
print("never")
def f():
    for x in f():
        continue
        print("never")
    else:
        return
    while 1:
        break
        print("never")
    while 0: pass
    return; print("never")
""",
    "jumps_in_try": """
def f(net: nn.Module, xs):
    for x in xs:
        try:
            if x: continue
            if y: break
            return net(x)
        except (A, B) as e:
            continue
        except C:
            raise
        else:
            break
        finally:
            net.eval()
    try:
        raise X from None
    finally:
        return 1
""",
    "match": """
match x:
    case 1 | -1 | 1+2j | "a" | None | True: pass
    case [a, *_, (b, c)] | {"k": [a, b, c], **d}: pass
    case A.B(): pass
    case A(x=1, y=B(z)) as whole if whole: pass
    case {}: pass
    case []: pass
    case _: pass
match (yield_ := 3), 4:
    case x, y: pass
""",
    "lambdas_and_comprehensions": """
f = lambda: (lambda: (yield))
g = lambda a, /, b=1, *, c=2: [a for a in b if a if c for c in a]
h = {k: v for k, v in {1: 2}.items()}
i = {x for x in (y for y in [1])}
j = [[x for x in row] for row in rows]
k = (lambda f: f(f))(lambda f: f(f))
l = [last := x for x in y]
g(1), f()()
""",
    "odd_calls": """
super().__init__()
super(A, B).f()
f()()()
(f or g)(x)
(f if x else g)(x)
[f][0](x)
{"a": f}["a"](x)
"".join(x)
(1).bit_length()
None()
None.x
print(print(print))
type("T", (nn.Module,), {})()
__import__("os")
exec("x = 1"); eval("x")
nn.Sequential()(x); nn.Sequential(*layers, **kw)(x)
nn.ModuleList()[0](x); nn.ModuleDict()["a"](x); nn.ModuleList([f])[-1](x)
torch.optim.SGD(); torch.optim.SGD(*a, **k).step()
torch.utils.data.DataLoader()
F.cross_entropy(); F.cross_entropy(1); F.cross_entropy(input=1)
torch.no_grad; torch.no_grad().x; torch.no_grad()(f)
nn.Linear.forward(nn.Linear(1, 1), x)
nn.Module.__init__()
torch(); torch.nn(); nn.functional()
torch.save(); torch.load(); torch.zeros(); torch.cat(); torch.stack()
x.backward().step().zero_grad().eval().train(1, 2, 3)
isinstance(x); len(); float(); int("x"); sum([1]); max(); dict([1]); dict(1); list(1)
""",
    "names_used_before": """
print(net)
net = net
def f(a=net, *, b=g): return a
def g(): return h()
f(); g()
x += 1
y.z
""",
    "shadowed_builtins": """
print = list = super = len = torch.zeros
print(1); list(2); len(3)
class A:
    def __init__(self):
        super().__init__()
A()
self = cls = A
self.x = 1
""",
    "names_of_our_own": """
def f(x):
    x.__class__ = x.__dict__ = x
    setattr(x, " mode", 1); setattr(x, "[]", 2); setattr(x, "{}", 3)
    net = nn.Sequential(nn.Linear(1, 1))
    setattr(net, "[]", 1); setattr(net, " device", 1); setattr(net, " kind", 1)
    setattr(net, " forward True True", 1)
    net.add_module(" mode", f); net.add_module("[]", f); net.add_module("{}", f)
    net.add_module("", f); net.add_module(0, f)
    getattr(net, "[]"); getattr(x, " mode"); getattr(net, "")
    net(x); net.eval(); net.to("cpu"); net(x); net[0](x)
    builtin_print(x)
    call_ref(x)
""",
    "object_that_holds_itself": """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.me = self
        self.list = [self]
        self.net = nn.ModuleList([self])
    def forward(self, x):
        return self.me(self.net[0](x))
a = A()
a.a = a
a.eval(); a.train(); a.to("cuda"); a(1)
l = []
l.append(l)
l += l
d = {}
d["d"] = d
torch.optim.SGD(a.parameters())
a.net.extend(a.net)
""",
    "type_comments_and_unicode": """
# -*- coding: latin-1 -*-
naïve = ﬁ = "\\u2028"  # type: ignore
def 函数(变量): return 变量
函数(naïve)
x = 1 if True else \\
    2
\x0c
y = 3
""",
}
if sys.version_info >= (3, 11):
    WEIRD["exception_groups"] = """
try:
    f()
except* ValueError as e:
    print(e)
except* (A, B):
    pass
x[*y]
def f(*args: *Ts): pass
"""
if sys.version_info >= (3, 12):
    WEIRD["type_parameters"] = """
type Alias[T] = list[T]
def f[T: int, *Ts, **P](x: T) -> T: return x
class A[T](nn.Module):
    def forward(self, x: T): return f(x)
A()(1)
g = f"{'a' + f'{1}'}"
"""


@table(WEIRD)
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "in_a_function"])
@pytest.mark.parametrize("sieve", [True, False], ids=["sieve", "no_sieve"])
def test_weird_but_valid(code, inside, sieve):
    """Nothing is said of it, and what stands after it is judged all the same."""
    if inside:
        code = "def outer(a=1):\n" + "".join(f"    {line}\n" for line in code.splitlines()) + "    return a\n"
    text = IMPORTS + code + "\n" + BAD
    try:
        compile(text, "snippet.py", "exec")
    except SyntaxError:
        pytest.skip("not valid here")
    numbers = [finding for finding in found(text, judge=Engine(RULES, sieve=sieve)) if finding[1] == 301]
    assert numbers == marked(text)


NEXT_TO_NOTHING = ["", "\n\n", "# torch\n", "# torch", '"""torch"""', "torch", "import torch", "\ufeffimport torch\n",
                   "import torch\n\x0c\n", "import torch\n\\\n", "if 1:\n\timport torch\n"]  # fmt: skip


@pytest.mark.parametrize("text", NEXT_TO_NOTHING)
def test_almost_nothing(text):
    try:
        assert found(text) == []
    except SyntaxError:
        with pytest.raises(SyntaxError):
            compile(text, "snippet.py", "exec")


DEEP = {
    "parentheses": lambda n: "x = " + "(" * n + "1" + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "]" * n,
    "calls": lambda n: "x = " + "f(" * n + ")" * n,
    "blocks": lambda n: "".join(" " * level + "if x:\n" for level in range(n)) + " " * n + "x = 1",
    "loops": lambda n: "".join(" " * level + f"for i{level} in x:\n" for level in range(n)) + " " * n + "net(x)",
    "functions": lambda n: "".join(" " * level + f"def f{level}():\n" for level in range(n)) + " " * n + "pass",
    "classes": lambda n: "".join(" " * k + f"class A{k}(A{k - 1}):\n" for k in range(n)) + " " * n + "pass",
    "sum": lambda n: "x = " + " + ".join(["1"] * n),
    "strings": lambda n: "x = " + " ".join(["'a'"] * n),
    "attributes": lambda n: "x" + ".a" * n,
    "chained_calls": lambda n: "x = y" + ".f()" * n,
    "elif": lambda n: "if x == 0:\n    y = 0\n" + "".join(f"elif x == {k}:\n    y = {k}\n" for k in range(n)),
    "conditionals": lambda n: "x = " + "1 if y else " * n + "2",
    "negations": lambda n: "x = " + "not " * n + "y",
    "lambdas": lambda n: "x = " + "lambda: " * n + "1",
    "chain_of_functions": lambda n: "".join(f"def f{k}(x):\n    return f{k + 1}(x)\n" for k in range(n)) + "f0(net)",
    "chain_of_classes": lambda n: "".join(f"class A{k}(A{k - 1}): pass\n" for k in range(n)) + f"A{n - 1}().f()",
}


@pytest.mark.parametrize("depth", [60, 2000])
@pytest.mark.parametrize("make", list(DEEP.values()), ids=list(DEEP))
@pytest.mark.parametrize("sieve", [True, False], ids=["sieve", "no_sieve"])
def test_deep_nesting(make, depth, sieve):
    text = IMPORTS + "def f(net: nn.Module, x, y):\n    net(x).sum().backward()\n" + make(depth) + "\n" + BAD
    judge = Engine(RULES, sieve=sieve)
    try:
        numbers = found(text, judge=judge)
    except SyntaxError:
        with pytest.raises((SyntaxError, MemoryError, RecursionError)):
            compile(text, "snippet.py", "exec")
    else:
        assert [finding for finding in numbers if finding[1] == 301] == marked(text)
    assert found(IMPORTS + BAD, judge=judge) == [(5, 301)], "the next file is judged as ever"


def test_a_generated_file_stays_within_the_bounds():
    lines = [f"x{n} = net(x{n - 1}) if flag else torch.zeros({n})" for n in range(20_000)]
    text = IMPORTS + "net = nn.Linear(2, 2)\n" + "\n".join(lines) + "\n" + BAD
    assert found(text) == marked(text)
    text = IMPORTS + "def f(net: nn.Module, x0, flag):\n    " + "\n    ".join(lines[1:]) + "\n" + BAD
    assert found(text) == marked(text)


def test_what_is_too_much_is_left_out_and_the_rest_is_judged(monkeypatch):
    monkeypatch.setattr(interpreter.Run, "most_steps", 300)
    many = "".join(f"    y = net(y)\n    y = y + {n}\n" for n in range(200))
    text = IMPORTS + "def big(net: nn.Module, y):\n" + many + "    return y.sum().backward()\n" + BAD
    assert found(text) == marked(text)
    assert [run.root.name for run in runs(text) if run.root is not None] == ["bad"]
    at_once = "net = nn.Linear(1, 1)\ny = 1\n" + many.replace("    ", "")
    assert found(IMPORTS + at_once + BAD, judge=Engine(RULES, sieve=False)) == marked(IMPORTS + at_once + BAD)
    assert len(runs(at_once + BAD)) == 1, "the body is left out, the function is not"


def test_too_many_events_are_too_much(monkeypatch):
    monkeypatch.setattr(interpreter, "STEPS_OF_EVENT", 5_000)
    many = "".join(f"    net.eval()  # {n}\n" for n in range(100))
    assert [run.root.name for run in runs("def big(net: nn.Module):\n" + many + BAD) if run.root is not None] == ["bad"]


def test_a_short_program_may_take_less_than_a_long_one(monkeypatch):
    """What a run may take grows with the lines that it comes to, and not with how often it comes to them."""
    monkeypatch.setattr(interpreter, "STEPS_AT_FIRST", 100)
    again = "def small(y):\n    return y + 1\n\n\ndef big(net: nn.Module, y):\n" + "".join(f"    y = small(y)  # {n}\n" for n in range(40)) + BAD
    whole = lambda: [run.root.name for run in runs(again) if run.root is not None and not run.alone]
    assert "big" in whole()
    monkeypatch.setattr(interpreter, "STEPS_OF_LINE", 1)
    assert "big" not in whole()


def test_calls_that_double_end():
    """Thirty functions, each calling the one before it twice: a billion calls, if each were followed."""
    doubling = "".join(f"def f{n}(x):\n    return f{n - 1}(f{n - 1}(x))\n" for n in range(1, 30))
    code = "def f0(x):\n    return x\n" + doubling
    text = IMPORTS + code + "f29(nn.Linear(1, 1)(x)).sum().backward()\n" + BAD
    assert found(text, judge=Engine(RULES, sieve=False)) == marked(text)


ENCODINGS = {
    "utf-8": "é".encode(),
    "bom": b"\xef\xbb\xbf# caf\xc3\xa9",
    "latin-1": b"# -*- coding: latin-1 -*-\n# caf\xe9",
    "cp1252": b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n# \x93quoted\x94",
    "euc-jp": "# coding: euc-jp\n# 日本".encode("euc-jp"),
}


@pytest.mark.parametrize("line", ["x = x + x", "x += x", "x = [*x, *x]", "x = x.copy() + list(x)"])
def test_lists_that_double_are_known_in_part(line):
    """Sixty lines: more items than there is memory for."""
    text = "x = [1, 2]\n" + f"{line}\n" * 60 + "torch.save(x, 'x')\n"
    [run] = [run for run in runs(text) if run.root is None]
    [saved] = [event.args[0] for event in run.graph.events if event.kind == "save"]
    items = run.store.get(saved, "[]")
    assert items.open and len(items.known) <= MOST_ITEMS


def test_what_a_long_chain_was_computed_from_is_known_in_part():
    text = "x = torch.zeros(1)\n" + "x = net(x)\n" * 1_000
    [run] = [run for run in runs(text) if run.root is None]
    chain = [len(alt.parts) for event in run.graph.events if event.kind == "forward" for alt in event.args]
    assert 1 < max(chain) <= MOST_IN_CHAIN


@pytest.mark.parametrize("head", list(ENCODINGS.values()), ids=list(ENCODINGS))
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_encodings(head, end, tmp_path):
    if b"#" not in head:
        head = b"s = '" + head + b"'"
    data = head.replace(b"\n", end.encode()) + ("\n" + IMPORTS + BAD).replace("\n", end).encode()
    write(tmp_path, {"a.py": data})
    source = parse_source(str(tmp_path / "a.py"), data)
    rows = found(source.text, tmp_path / "a.py", Engine(RULES))
    assert rows == [(head.count(b"\n") + 6, 301)]


def test_strings_of_a_file_are_read_once_for_all_its_layers():
    """Not once for each layer that nothing mentions (found by the fuzzer: 2,000 layers took a minute)."""
    from torchlint.rules.modules import layer_never_used as rule

    rule._quoted.cache_clear()
    layers = "".join(f"        self.a{n} = nn.Linear({n}, {n + 1})\n" for n in range(1, 50))
    text = f"{IMPORTS}class A(nn.Module):\n    def __init__(self):\n{layers}    def forward(self, x):\n        return self.a1(x) + 'a2'\n"
    assert [number for _, number in found(text)].count(506) == 47
    assert rule._quoted.cache_info().misses == 1
