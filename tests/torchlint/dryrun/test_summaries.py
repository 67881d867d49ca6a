"""A call that is like one before is not run again, and nothing is lost or found by that."""

import sys

import pytest

from tests.torchlint.support import ROOT
from torchlint.catalogue.pages import catalogue
from torchlint.cli import main
from torchlint.dryrun import interpreter, summaries
from torchlint.engine import Engine

RULES = tuple(catalogue())
HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n"
PLAIN = (
    "def widen(table, key, fallback):\n    found = []\n    for name in table:\n        for part in name.split('.'):\n"
    "            if part == key:\n                found.append(part)\n            else:\n                found.append(fallback)\n    return found\n\n\n"
    "class Names:\n    def __init__(self):\n        self.names = {}\n        self.order = []\n\n"
    "    def add(self, key, value):\n        if key in self.names:\n            raise KeyError(key)\n        self.names[key] = value\n"
    "        self.order.append(key)\n        return len(self.order)\n\n\n"
)
# Where a second call is like the first one and yet does something else: what was written in between, or is given, differs.
PROGRAMS = {
    "a model comes between": "class Box:\n    def __init__(self):\n        self.model = None\n\n    def work(self, x):\n        y = [x, x, x, x, x, x]\n"
    "        if self.model is not None:\n            self.model.eval\n        return y\n\n\n"
    "box = Box()\nbox.work(1)\nbox.work(2)\nbox.model = nn.Linear(1, 2)\nbox.work(3)\nbox.work(4)\n",
    "a list gets a loss": "def total(items):\n    n = 1 + 2 + 3 + 4 + 5\n    for item in items:\n        n = n + item\n    return n\n\n\n"
    "def train(net, opt, data):\n    total([1]), total([2]), total([3])\n    losses = []\n    for x, y in data:\n        losses.append(F.mse_loss(net(x), y))\n"
    "    loss = total(losses)\n    loss.backward()\n    opt.step()\n",
    "what is given back is stepped": "def pick(table, name):\n    found = table[name]\n    found = found or table[name + 'x' + 'y' + 'z']\n    return found\n\n\n"
    "def train(net, data, table):\n    pick(table, 'a'), pick(table, 'b'), pick(table, 'c')\n    optimizer = pick(table, 'optimizer')\n    for x, y in data:\n"
    "        F.cross_entropy(net(x), y).backward()\n        optimizer.step()\n",
    "a meter gets a number, and then a loss": "class Meter:\n    def __init__(self):\n        self.sum, self.count, self.avg = 0, 0, 0\n\n"
    "    def update(self, value, n=1):\n        self.sum += value * n\n        self.count += n\n        self.avg = self.sum / self.count\n\n\n"
    "class Trainer:\n    def __init__(self, model, loss, opt):\n        self.model, self.loss, self.opt = model.to('cuda'), loss, opt\n\n"
    "    def train(self, data):\n        losses, hits = Meter(), Meter()\n        for x, y in data:\n            self.opt.zero_grad()\n"
    "            loss = self.loss(self.model(x), y)\n            loss.backward()\n            self.opt.step()\n"
    "            hits.update(x.mean().item())\n            losses.update(loss, 4)\n",
    "a callback": "def each(items, what):\n    out = [1, 2, 3, 4]\n    for item in items:\n        out.append(what(item))\n    return out\n\n\n"
    "def one(x):\n    return x\n\n\ndef other(x):\n    return F.cross_entropy(x.softmax(1), x)\n\n\n"
    "each([1], one)\neach([2], one)\neach([3], one)\neach([torch.ones(2, 2)], other)\n",
    "a closure": "def outer(net, x):\n    seen = []\n\n    def note(value):\n        a = [1, 2, 3, 4, 5]\n        seen.append(value)\n        return seen\n\n"
    "    note(1), note(2), note(3)\n    note(net(x))\n    return note(4)\n\n\ndef train(net, opt, data):\n    for x in data:\n        outer(net, x)[0].backward()\n        opt.step()\n",
    "recursion": "def down(tree, net):\n    out = [1, 2, 3, 4, 5]\n    for part in tree:\n        out.append(down(part, None))\n    if net is not None:\n        net.eval\n    return out\n\n\n"
    "down([1], None)\ndown([2], None)\ndown([3], nn.Linear(1, 1))\n",
    "in a loop that is run twice": PLAIN + "def go(data):\n    names = Names()\n    for x in data:\n        for y in x:\n            names.add(y, 1)\n            names.add(x, 2)\n"
    "            x.contiguous()\n    return widen(names.order, 'a', None)\n",
    "mistakes in what is plain": "def shape(x, y):\n    z = [x, y, x, y]\n    x.contiguous()\n    z.append(x)\n    return z\n\n\n"
    "def a(x):\n    shape(x, 1)\n    shape(x, 2)\n    for y in x:\n        shape(y, 3)\n        shape(y, 4)\n",
    "flags": "def build(kind):\n    parts = [1, 2, 3, 4, 5]\n    if kind == 'norm':\n        parts.append(nn.BatchNorm1d(3))\n    elif kind:\n        parts.append(kind)\n    return parts\n\n\n"
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = build('x')\n        self.b = build('x')\n        self.c = build('norm')\n",
    "layers are repeated": "def many(value, count):\n    parts = [1, 2, 3, 4, 5]\n    return [value] * count\n\n\n"
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        many(1, 2), many(2, 2), many(3, 2)\n"
    "        self.layers = nn.ModuleList([nn.Linear(2, 2)] * 3)\n        self.more = nn.ModuleList(many(nn.Linear(2, 2), 3))\n\n"
    "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n",
    "a global": "MODEL = None\n\n\ndef current(x):\n    y = [x, 1, 2, 3, 4]\n    if MODEL is not None:\n        MODEL.eval\n    return y\n\n\n"
    "def set_up():\n    global MODEL\n    MODEL = nn.Linear(1, 1)\n\n\ncurrent(1)\ncurrent(2)\ncurrent(3)\nset_up()\ncurrent(4)\n",
}


def texts():
    blocks = [(f"/x/{page.code}.py", block.code) for page in RULES for block in page.examples()]
    yield from blocks[::3]
    files = [path for folder in ("fixtures", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]
    yield from ((str(path), path.read_text()) for path in files[::4])
    yield from ((f"/x/{name}.py", HEAD + text) for name, text in PROGRAMS.items())


def told(engine, path, text):
    try:
        return engine.check(path, text)
    except SyntaxError:
        return None


def test_the_same_is_found_with_and_without(monkeypatch):
    """Also where every call that is like another one is left out, however short it is."""
    monkeypatch.setattr(summaries, "LEAST", 0)
    every, none = Engine(RULES), Engine(RULES, summaries=False)
    for path, text in texts():
        assert told(every, path, text) == told(none, path, text), path


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_differs_is_seen(name):
    path, text = f"/x/{name}.py", HEAD + PROGRAMS[name]
    assert told(Engine(RULES), path, text) == told(Engine(RULES, summaries=False), path, text)


def steps_of(monkeypatch, text, **options):
    counted = []
    inline = interpreter.Run.inline

    def spy(run, func, *rest):
        began = run.steps
        try:
            return inline(run, func, *rest)
        finally:
            if not run.stack:
                counted.append(run.steps - began)

    with monkeypatch.context() as patch:
        patch.setattr(interpreter.Run, "inline", spy)
        told(Engine(RULES, **options), "/x/steps.py", HEAD + text)
    return sum(counted)


def test_what_is_plain_is_run_for_what_differs_only(monkeypatch):
    calls = "".join(f"    widen(tables, key, {row})\n    names.add(key, {row})\n" for row in range(30))
    text = PLAIN + f"def start(net, x, tables, key):\n    names = Names()\n{calls}    net(x).backward()\n    return names\n"
    assert steps_of(monkeypatch, text) < steps_of(monkeypatch, text, summaries=False) / 2


def test_a_number_in_a_tuple_of_it(monkeypatch):
    """`(kernel,) * 2`: what is repeated is nothing of torch."""
    pair = "def pair(value, length):\n    if isinstance(value, list):\n        value = tuple(value)\n    return value if isinstance(value, tuple) else (value,) * length\n\n\n"
    calls = "".join(f"    pair({row}, 2)\n" for row in range(30))
    text = f"{pair}def start(net, x):\n{calls}    net(x).backward()\n"
    assert steps_of(monkeypatch, text) < steps_of(monkeypatch, text, summaries=False) / 2


def test_alternatives_of_one_kind(monkeypatch):
    """A call of what may be one of three objects."""
    text = PLAIN + (
        "def start(net, x, tables, which):\n    a, b, c = Names(), Names(), Names()\n    one = a if which else b if tables else c\n"
        + "".join(f"    one.add(tables, {row})\n" for row in range(20))
        + "    net(x).backward()\n"
    )
    assert steps_of(monkeypatch, text) < steps_of(monkeypatch, text, summaries=False) / 2


def test_the_switch(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(HEAD + PROGRAMS["a callback"])
    said = []
    for options in ((), ("--no-summaries",)):
        main(["--no-cache", "-j1", "--isolated", "--select", "ALL", *options, "."])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and "TL301" in said[0]
    assert "torchlint.dryrun.summaries" in sys.modules
