"""Programs that are deep, long or wide: nesting of every kind, lines of megabytes, thousands of branches and functions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

DEPTHS = (20, 60, 90, 98, 99, 100, 101, 150, 199, 200, 201, 300, 500, 900, 990, 1500, 2900, 3000, 6000, 10_000, 30_000)
HEAD = "import torch\nmodel = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
TAIL = "\nloss = model(x).sum()\nloss.backward()\noptimizer.step()\nmodel.eval\n"


def _levels(n: int) -> range:
    """`n` levels of indentation, or as many as make three megabytes: there is no need to make a gigabyte and cut it."""
    return range(min(n, 2500))


def _indented(line: str, last: str = "pass") -> Callable[[int], str]:
    return lambda n: "".join(f"{' ' * at}{line}\n" for at in _levels(n)) + " " * len(_levels(n)) + last


def _wrapped(left: str, right: str, middle: str = "x") -> Callable[[int], str]:
    return lambda n: f"y = {left * n}{middle}{right * n}"


NESTED: dict[str, Callable[[int], str]] = {
    "round": _wrapped("(", ")"),
    "tuple": _wrapped("(", ",)"),
    "square": _wrapped("[", "]"),
    "curly": _wrapped("{", "}"),
    "dict": _wrapped("{1:", "}"),
    "call": _wrapped("f(", ")"),
    "torch calls": _wrapped("torch.relu(", ")"),
    "subscript inside": _wrapped("x[", "]"),
    "open only": _wrapped("(", ""),
    "close only": _wrapped("", ")"),
    "mixed brackets": _wrapped("([{1:", "}])"),
    "attributes": lambda n: "y = x" + ".a" * n,
    "torch attributes": lambda n: "y = torch" + ".nn" * n + ".Linear(1, 2)",
    "method chain": lambda n: "y = model(x)" + ".view(1, -1)" * n,
    "tensor chain": lambda n: "y = torch.ones(3)" + ".t()" * n,
    "call chain": lambda n: "y = f" + "()" * n,
    "subscript chain": lambda n: "y = x" + "[0]" * n,
    "plus": lambda n: "y = x" + " + x" * n,
    "tensor plus": lambda n: "y = model(x)" + " + model(x)" * n,
    "sizes": lambda n: "y = torch.nn.Linear(1" + " * 2" * n + ", 3)",
    "numbers": lambda n: "y = torch.zeros(2" + " ** 2" * n + ")",
    "power": lambda n: "y = x" + " ** x" * n,
    "unary": lambda n: "y = " + "-" * n + "1",
    "not": lambda n: "y = " + "not " * n + "x",
    "tilde": lambda n: "y = " + "~" * n + "x",
    "await": lambda n: "async def f():\n    y = " + "await " * n + "x",
    "and": lambda n: "y = x" + " and x" * n,
    "and or": lambda n: "y = x" + " and x or x" * n,
    "compare": lambda n: "y = x" + " < x" * n,
    "if else": lambda n: "y = " + "x if x else " * n + "x",
    "if else inside": _wrapped("(x if ", " else x)"),
    "lambda": lambda n: "y = " + "lambda: " * n + "x",
    "lambda default": _wrapped("lambda a=", ": a"),
    "walrus": _wrapped("(y := ", ")"),
    "starred": _wrapped("[*", "]"),
    "list comprehension": _wrapped("[", " for x in y]"),
    "comprehension in iterable": _wrapped("[x for x in ", "]"),
    "fors": lambda n: "y = [x" + " for x in x" * n + "]",
    "generator": _wrapped("(", " for x in y)"),
    "fstring parts": lambda n: "y = f'" + "{x}" * n + "'",
    "fstring": lambda n: "y = " + "f'{" * n + "x" + "}'" * n,
    "fstring format": lambda n: "y = f'{x" + ":{x" * n + "}" * n + "}'",
    "strings": lambda n: "y = (" + "'a' " * n + ")",
    "string plus": lambda n: "y = 'a'" + " + 'a'" * n,
    "if": _indented("if x:"),
    "while": _indented("while x:"),
    "for": _indented("for x in y:"),
    "with": _indented("with torch.no_grad():"),
    "def": _indented("def f(x):"),
    "class": _indented("class A(torch.nn.Module):"),
    "try": lambda n: "".join(" " * at + "try:\n" for at in _levels(n)) + " " * len(_levels(n)) + "pass\n"
    + "".join(" " * at + "finally: pass\n" for at in reversed(_levels(n))),
    "else": lambda n: "".join(f"{' ' * at}if x: pass\n{' ' * at}else:\n" for at in _levels(n)) + " " * len(_levels(n)) + "pass",
    "match": lambda n: "".join(f"{' ' * at * 2}match x:\n{' ' * (at * 2 + 1)}case 1:\n" for at in _levels(n)) + " " * len(_levels(n)) * 2 + "pass",
    "case": lambda n: "match x:\n case " + "[" * n + "x" + "]" * n + ": pass",
    "case or": lambda n: "match x:\n case " + "1 | " * n + "2: pass",
    "elif": lambda n: "if x: pass\n" + "elif x: pass\n" * n,
    "elif steps": lambda n: "if x: model.train()\n" + "elif x: model.eval()\n" * n + "else: optimizer.step()",
    "decorators": lambda n: "@f\n" * n + "def g(): pass",
    "decorators of torch": lambda n: "@torch.no_grad()\n" * n + "def g(): return model(x)",
    "annotation": lambda n: "y: " + "list[" * n + "int" + "]" * n,
    "targets": lambda n: "y = " * n + "x",
    "unpack": lambda n: "[" * n + "y" + "]" * n + " = x",
    "slices": lambda n: "y = x[" + "::, " * n + "]",
    "arguments": lambda n: "f(" + ", ".join(f"a{at}=1" for at in range(n)) + ")",
    "starred arguments": lambda n: "f(" + "*a, " * n + ")",
    "parameters": lambda n: "def f(" + ", ".join(f"a{at}" for at in range(n)) + "): pass",
    "bases": lambda n: "class A(" + ", ".join(f"B{at}" for at in range(n)) + "): pass",
    "base chain": lambda n: "class A0(torch.nn.Module): pass\n" + "".join(f"class A{at + 1}(A{at}): pass\n" for at in range(n)),
    "base circle": lambda n: "".join(f"class A{at}(A{(at + 1) % n}):\n    def forward(self, x): return super().forward(x)\n"
                                    for at in range(n)),
    "dots": lambda n: "from " + "." * n + "x import y",
    "dotted import": lambda n: "import torch" + ".nn" * n,
    "imports": lambda n: "from torch import " + ", ".join(f"a{at}" for at in range(n)),
    "semicolons": lambda n: "x = 1; " * n,
    "backslashes": lambda n: "x = " + "\\\n" * n + "1",
    "blank lines": lambda n: "\n" * n,
    "form feeds": lambda n: "\f" * n + "x = 1",
    "global": lambda n: "def f():\n    global " + ", ".join(f"a{at}" for at in range(n)),
    "with items": lambda n: "with " + ", ".join(["torch.no_grad()"] * n) + ": pass",
    "excepts": lambda n: "try: pass\n" + "except A: pass\n" * n,
    "digits": lambda n: "y = " + "9" * n,
    "float digits": lambda n: "y = 0." + "9" * n,
    "hexadecimal": lambda n: "y = torch.zeros(0x" + "f" * n + ")",
    "name": lambda n: "a" * n + " = model(x)",
    "sequential": lambda n: "y = " + "torch.nn.Sequential(" * n + "model" + ")" * n + "\ny(x)",
    "sequential wide": lambda n: "y = torch.nn.Sequential(" + "torch.nn.Linear(2, 2), " * n + ")\ny(torch.ones(1, 2))",
    "list in list": lambda n: "y = []\n" + "y = [y, y]\n" * n + "print(y)",
    "dict in dict": lambda n: "y = {}\n" + "y = {'a': y, 'b': y}\n" * n + "torch.save(y, 'x')",
    "tuples of tensors": lambda n: "y = torch.ones(1)\n" + "y = (y, y)\n" * n + "y.backward()",
    "strings doubled": lambda n: "s = 'ab'\n" + "s = s + s\n" * n + "torch.save(s, s)",
    "numbers squared": lambda n: "s = 7\n" + "s = s * s\n" * n + "torch.zeros(s)",
    "shapes doubled": lambda n: "s = torch.zeros(3, 4)\n" + "s = torch.cat([s, s])\n" * n + "s.view(7)",
    "stacked shapes": lambda n: "s = torch.zeros(3, 4)\n" + "s = s.unsqueeze(0)\n" * n + "s.view(7)",
}

MANY: dict[str, Callable[[int], str]] = {
    "branches in a loop": lambda n: "for x in y:\n" + "    if x: optimizer.zero_grad()\n    else: loss = model(x)\n" * n + "    loss.backward()",
    "branches": lambda n: "if x: a = 1\nelse: a = model\n" * n,
    "branches on numbers": lambda n: "\n".join(f"if x: a{at} = 1\nelse: a{at} = 2" for at in range(n)) + "\ntorch.zeros("
    + " + ".join(f"a{at}" for at in range(n)) + ")",
    "steps": lambda n: "loss = model(x).sum()\nloss.backward()\noptimizer.step()\n" * n,
    "functions": lambda n: "".join(f"def f{at}(m, o):\n    o.step()\n    m(x).backward()\n" for at in range(n)),
    "functions that call all": lambda n: "".join(
        f"def f{at}(m):\n    " + "; ".join(f"f{other}(m)" for other in range(min(n, 12))) + "\n    m.backward()\n" for at in range(n)
    ),
    "functions that call the next twice": lambda n: "".join(
        f"def f{at}(m):\n    f{at + 1}(m)\n    f{at + 1}(m)\n    m.backward()\n" for at in range(n)
    ) + "f0(model(x))",
    "methods that call each other": lambda n: "class A(torch.nn.Module):\n" + "".join(
        f"    def f{at}(self, x):\n        return self.f{(at * 7 + 1) % n}(x) + self.f{(at * 3 + 2) % n}(x)\n" for at in range(n)
    ) + "    def forward(self, x):\n        return self.f0(x)\n",
    "closures": lambda n: "".join(f"f{at + 1} = lambda x: f{at}(f{at}(x))\n" for at in range(n)) + f"f{n}(model(x)).backward()",
    "classes": lambda n: "".join(
        f"class A{at}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.m = A{at + 1}()\n"
        f"        self.n = A{at + 1}()\n    def forward(self, x):\n        return self.m(self.n(x))\n" for at in range(n)
    ) + "net = A0()\nnet(x).backward()",
    "loops in loops": lambda n: _indented("for x in y:", "loss.backward()")(min(n, 18)),
    "loops and branches": lambda n: "".join(
        f"{'  ' * at}for x{at} in y:\n{'  ' * at} if x: optimizer.step()\n" for at in range(min(n, 30))
    ) + "  " * min(n, 30) + "loss.backward()",
    "optimizers": lambda n: "".join(f"o{at} = torch.optim.SGD(model.parameters())\n" for at in range(n)) + "loss.backward()\n"
    + "".join(f"o{at}.step()\n" for at in range(n)),
    "attributes": lambda n: "class A(torch.nn.Module):\n    def __init__(self):\n" + "".join(
        f"        self.a{at} = torch.nn.Linear({at}, {at + 1})\n" for at in range(n)) + "    def forward(self, x):\n        return x\n",
    "try": lambda n: "try:\n    import a\nexcept ImportError:\n    a = None\n" * n,
    "lists": lambda n: "out = []\n" + "out.append(model(x))\nout = out + out\n" * n + "loss = sum(out)\nloss.backward()",
    "while and break": lambda n: "while True:\n" + "    if x: break\n    if y: continue\n    loss.backward()\n" * n,
    "returns": lambda n: "def f(x):\n" + "    if x: return model(x)\n" * n + "f(x).backward()",
    "redefinitions": lambda n: "def f(x): return x\n" * n + "f(model)",
    "strings of noqa": lambda n: "x = 1  # noqa: TL101\n" * n + "model.eval",
}


def _line(size: int, piece: str, head: str = "", tail: str = "") -> str:
    return head + piece * (size // len(piece)) + tail


LONG: dict[str, Callable[[int], str]] = {
    "string": lambda n: _line(n, "a", "y = '", "'"),
    "triple string": lambda n: _line(n, "a\n", "y = '''", "'''"),
    "comment": lambda n: _line(n, "#"),
    "comment of noqa": lambda n: _line(n, "# noqa: TL1 ", "x = 1  "),
    "codes of noqa": lambda n: _line(n, "A1, ", "x = 1  # noqa: "),
    "numbers": lambda n: _line(n, "1, ", "y = [", "]"),
    "tensor of numbers": lambda n: _line(n, "0.12345, ", "y = torch.tensor([", "])"),
    "names": lambda n: _line(n, "x, ", "y = [", "]"),
    "spaces": lambda n: _line(n, " ", "y = ", "1"),
    "spaces at the end": lambda n: _line(n, " ", "y = 1"),
    "tabs": lambda n: _line(n, "\t", "y = ", "1"),
    "name": lambda n: _line(n, "a", "", " = model(x)"),
    "one token": lambda n: _line(n, "x"),
    "plus": lambda n: _line(n, "x + ", "y = ", "x"),
    "arguments": lambda n: _line(n, "x, ", "model(", ")"),
    "keywords": lambda n: "model(" + ", ".join(f"k{at}=1" for at in range(n // 9)) + ")",
    "statements": lambda n: _line(n, "x = 1; "),
    "calls": lambda n: _line(n, "f(x); "),
    "steps": lambda n: _line(min(n, 600_000), "loss.backward(); "),
    "dict": lambda n: _line(n, "'abc': [1, 2], ", "y = {", "}"),
    "fstring": lambda n: _line(min(n, 150_000), "{x}", "y = f'", "'"),  # before 3.12, Python's own parser takes the square
    "questions": lambda n: _line(n, "?"),
    "backslashes": lambda n: _line(n, "\\"),
    "quotes": lambda n: _line(n, "'"),
    "brackets": lambda n: _line(n, "("),
    "percent": lambda n: _line(n, "%"),
    "no line at all": lambda n: _line(n, "\0"),
    "lines": lambda n: _line(n, "x = 1\n"),
    "lines of calls": lambda n: _line(min(n, 1_000_000), "model(x)\n"),
    "short functions": lambda n: _line(min(n, 1_000_000), "def f(x):\n    x.backward()\n"),
    "carriage returns": lambda n: _line(n, "x = 1\r"),
    "combining": lambda n: _line(n, "\u0301", "y = 'e", "'"),
    "wide": lambda n: _line(n, "變", "y = '", "'"),
}


def deep(rng: Random) -> str:
    """Nesting of some kind, to some depth."""
    text = NESTED[rng.choice(tuple(NESTED))](rng.choice(DEPTHS))
    if len(text) > 3_000_000:
        text = text[:3_000_000]
    return _placed(rng, text)


def many(rng: Random) -> str:
    """Much of something: branches, functions, classes that use each other."""
    return _placed(rng, MANY[rng.choice(tuple(MANY))](rng.choice((2, 5, 10, 20, 30, 60, 100, 300, 1000, 2000))))


def long(rng: Random) -> str:
    """Lines, or files, of up to five megabytes."""
    size = rng.choice((50_000, 100_000, 200_000, 1_000_000, 5_000_000))
    return _placed(rng, LONG[rng.choice(tuple(LONG))](size))


def _placed(rng: Random, text: str) -> str:
    """The text alone, among lines that a rule speaks of, or in a function."""
    kind = rng.randrange(5)
    if kind == 0:
        return text
    if kind == 1 and "\n" not in text:
        return f"{HEAD}def train(model, loader):\n    for x in loader:\n        {text}{TAIL.replace(chr(10), chr(10) + '        ')}"
    return HEAD + text + TAIL
