"""Programs that work, in shapes that a fix must leave alone: each prints the same before and after `--fix`."""

import sys
from pathlib import Path

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.fixes.fixer import Fixer
from torchlint.run.runner import Runner
from torchlint.settings.config import Config

pytest.importorskip("torch", reason="the programs are run")

LOSSES = """
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(3, 4), torch.randn(3, 1)) for _ in range(4)]


def finish(loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print([parameter.detach().tolist() for parameter in model.parameters()])

"""
ADDS = """
    total, losses = 0.0, []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        {adds}
"""
EPOCH = LOSSES + "\ndef epoch(callback=print):" + ADDS
SUMS = {
    "returned": ("total += loss", "    return total\n\n\nfinish(epoch())\n"),
    "added by hand": ("total = total + loss", "    return total / 2\n\n\nfinish(epoch())\n"),
    "yielded": ("total += loss", "        yield total\n\n\n*_, last = epoch()\nfinish(last)\n"),
    "in a list": ("losses.append(loss)", "    return losses\n\n\nfinish(torch.stack(epoch()).mean())\n"),
    "given to a callback": ("total += loss", "    callback(total)\n\n\nepoch(finish)\n"),
    "kept on an object": ("total += loss", "    model.total = total\n\n\nepoch()\nfinish(model.total)\n"),
    "asked by a closure": ("total += loss", "    return lambda: finish(total)\n\n\nepoch()()\n"),
    "kept in a dict": ("total += loss", "    return {'loss': total}\n\n\nfinish(epoch()['loss'])\n"),
    "asked for a gradient": ("total += loss", "    print(torch.autograd.grad(total, model.weight))\n\n\nepoch()\n"),
    "sent by torch": ("total += loss", "    torch.autograd.backward(total)\n\n\nepoch()\nprint(model.weight.grad)\n"),
    "asked whether it has a graph": ("total += loss", "    print(total.requires_grad)\n\n\nepoch()\n"),
}
MODULE = """
import torch
from torch import nn


class Net(nn.Module):
    {first}
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        {init}

    def forward(self, x):
        return {forward}

    {method}


net = Net()
net.requires_grad = {value}
{then}
print([parameter.requires_grad for parameter in net.parameters()], net(torch.ones(1, 2)).requires_grad)
"""
READS = "self.layer(x) if self.requires_grad else self.layer(x).detach()"
FLAGS = {
    "a default": {"first": "requires_grad = True\n", "forward": READS},
    "an annotation": {"first": "requires_grad: bool = True\n", "forward": READS},
    "a slot": {"first": "__slots__ = ('requires_grad',)\n", "forward": READS},
    "an attribute": {"init": "self.requires_grad = True", "forward": READS},
    "asked for by name": {"forward": "self.layer(x) if getattr(self, 'requires_grad', True) else x"},
    "a property": {"first": "requires_grad = property(lambda self: True, lambda self, to: self.layer.bias.requires_grad_(to))\n"},
    "a method of that name": {"method": "def requires_grad_(self, to=True):\n        print('own')"},
    "attributes of its own": {"method": "def __setattr__(self, name, to):\n        super().__setattr__(name, to)"},
    "read by the program": {"then": "for part in [net]:\n    print([1 for part in [net] if part.requires_grad])\n"},
    "no bool": {"value": "0"},
    "scripted": {"value": "False\nscripted = torch.jit.script(nn.Linear(2, 2))\nscripted.requires_grad = False"},
    "fixed parameters": {"init": "self.table = nn.Parameter(torch.zeros(2), requires_grad=False)", "value": "True"},
}
BASE = """
import torch
from torch import nn


class Base(nn.Module):
    def __init__(self, width):
        self.layer = nn.Linear(width, 2)


{rest}
print(len(list(made.parameters())))
"""
DERIVED = {
    "its name": "class Child(Base):\n    def __init__(self):\n        nn.Module.__init__(self)\n        self.first = nn.Linear(3, 3)\n"
                "        Base.__init__(self, 3)\n\n\nmade = Child()",
    "super": "class Child(Base):\n    def __init__(self):\n        super(Base, self).__init__()\n        self.first = nn.Linear(3, 3)\n"
             "        Base.__init__(self, 3)\n\n\nmade = Child()",
    "__new__": "class Child(Base):\n    def __new__(cls, *given):\n        self = object.__new__(cls)\n        nn.Module.__init__(self)\n"
               "        self.first = nn.Linear(1, 1)\n        return self\n\n\nmade = Child(3)",
    "another base": "class Body(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.body = nn.Linear(3, 3)\n\n\n"
                    "class Child(Body, Base):\n    def __init__(self):\n        nn.Module.__init__(self)\n"
                    "        self.body = nn.Linear(3, 3)\n        Base.__init__(self, 3)\n\n\nmade = Child()",
    "a dataclass": "from dataclasses import dataclass\n\n\n@dataclass(eq=False)\nclass Child(Base):\n    width: int\n\n"
                   "    def __post_init__(self):\n        nn.Module.__init__(self)\n        self.first = nn.Linear(1, 1)\n"
                   "        Base.__init__(self, self.width)\n\n\nmade = Child(3)",
    "a function": "def make(cls, *given):\n    self = cls.__new__(cls)\n    nn.Module.__init__(self)\n    self.first = nn.Linear(1, 1)\n"
                  "    self.__init__(*given)\n    return self\n\n\nmade = make(Base, 3)",
    "an __init__ put in its place": "old = Base.__init__\n\n\ndef begun(self, *given):\n    nn.Module.__init__(self)\n"
                                    "    self.first = nn.Linear(1, 1)\n    old(self, *given)\n\n\nBase.__init__ = begun\nmade = Base(3)",
}
CHECKPOINT = """
import argparse

import numpy as np
import torch
from torch import nn


class Settings:
    lr = 0.1


def resume(model, path):
    checkpoint = torch.load(path, weights_only=False)
    model.load_state_dict(checkpoint["state"])
    return sorted(checkpoint)


def save(model, path, args):
    optimizer = torch.optim.Adam(model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    {save}


net = nn.Linear(2, 2)
save(net, "m.pt", argparse.Namespace(lr=1))
print(resume(net, "m.pt"))
"""
OBJECTS = {
    "a namespace": 'torch.save({"state": model.state_dict(), "args": args}, path)',
    "a number of numpy": 'torch.save({"state": model.state_dict(), "best": np.float64(1)}, path)',
    "a mean": 'best = np.mean([1.0]); torch.save({"state": model.state_dict(), "best": best}, path)',
    "a model": 'torch.save({"state": model.state_dict(), "model": model}, path)',
    "an optimizer": 'torch.save({"state": model.state_dict(), "optimizer": optimizer}, path)',
    "a scheduler": 'torch.save(dict(state=model.state_dict(), scheduler=scheduler), path)',
    "settings": 'settings = Settings(); torch.save({"state": model.state_dict(), "settings": settings}, path)',
    "put in later": 'all = {"state": model.state_dict()}; all["args"] = args; torch.save(all, path)',
}
CALLS = {
    "a call of its own": "class Net(nn.Module):\n    def forward(self, x):\n        return x + 1\n\n    def twice(self, x):\n"
                         "        return 2 * super().__call__(x)\n\n    __call__ = twice\n\n\n",
    "no module": "class Net:\n    def forward(self, x):\n        return x + 1\n\n\n",
}


def programs():
    """(rule, whether unsafe fixes are meant too, program) by name."""
    for name, (adds, rest) in SUMS.items():
        yield f"106 {name}", 106, False, EPOCH.format(adds=adds) + rest
    for name, parts in FLAGS.items():
        given = {"first": "", "init": "pass", "forward": "self.layer(x)", "method": "pass", "value": "False", "then": ""}
        yield f"522 {name}", 522, False, MODULE.format(**given | parts)
    for name, rest in DERIVED.items():
        yield f"503 {name}", 503, False, BASE.format(rest=rest)
    for name, save in OBJECTS.items():
        yield f"909 {name}", 909, True, CHECKPOINT.format(save=save)
    for name, text in CALLS.items():
        yield f"504 {name}", 504, True, f"import torch\nfrom torch import nn\n\n\n{text}print(Net().forward(torch.ones(1)))\n"


def mended(folder, code, text, unsafe):
    """The text after the fixes of one rule."""
    (folder / "pyproject.toml").touch()  # where the project ends
    path = folder / "program.py"
    path.write_text(text)
    rules = [rule for rule in catalogue() if rule.code == code]
    done = Fixer(Runner(Config(folder), rules, catalogue()), unsafe).mend(str(path), text.encode())
    return text if done is None else done.after.decode()


def output(text, capsys):
    """What a program prints."""
    exec(compile(text, "program.py", "exec"), {"__name__": "program"})
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _as_a_module(monkeypatch):
    """What is pickled names its module: the one that the program stands for."""
    monkeypatch.setitem(sys.modules, "program", sys.modules[__name__])
    monkeypatch.setattr(sys.modules[__name__], "Settings", type("Settings", (), {"__module__": "program"}), raising=False)


ALL = list(programs())


@pytest.mark.parametrize(("code", "unsafe", "text"), [case[1:] for case in ALL], ids=[case[0] for case in ALL])
def test_it_prints_the_same(code, unsafe, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "Settings" in text:
        text = text.replace("class Settings:\n    lr = 0.1\n", "from program import Settings\n")
    before = output(text, capsys)
    assert before
    assert output(mended(tmp_path, code, text, unsafe), capsys) == before


@pytest.mark.parametrize(("adds", "rest", "safe"), [
    ("total += loss", "    print(f'{total / len(loader):.3f}')\n\n\nepoch()\n", True),
    ("total += loss", "    return total / len(loader)\n\n\nmean = epoch()\nprint(f'loss {mean:.3f}', round(mean.item(), 2))\n", True),
    ("losses.append(loss)", "    print(sum(losses).item(), [each.item() for each in losses], len(losses))\n\n\nepoch()\n", True),
    ("losses.append(loss)", "    for each in losses:\n        print(float(each))\n\n\nepoch()\n", True),
    ("total += loss", "    return total\n", False),
    ("losses.append(loss)", "    return losses\n\n\nkept = epoch()\nelsewhere(kept)\n", False),
])
def test_a_sum_that_is_only_shown_is_detached(adds, rest, safe, tmp_path):
    text = EPOCH.format(adds=adds) + rest
    assert (".detach()" in mended(tmp_path, 106, text, False).replace("parameter.detach()", "")) == safe
    assert ".detach()" in mended(tmp_path, 106, text, True).replace("parameter.detach()", "")


def test_another_file_that_takes_the_sum(tmp_path):
    """Who imports the function may send what it returns backward."""
    (tmp_path / "run.py").write_text("from program import epoch\n\nepoch().backward()\n")
    text = EPOCH.format(adds="total += loss") + "    return total\n\n\nprint(epoch().item())\n"
    assert mended(tmp_path, 106, text, False) == text
    Path(tmp_path / "run.py").unlink()
    assert mended(tmp_path, 106, text, False) != text


def test_a_subclass_of_another_file_begins_first(tmp_path):
    (tmp_path / "run.py").write_text(
        "from torch import nn\nfrom program import Base\n\n\nclass Child(Base):\n    def __init__(self):\n"
        "        nn.Module.__init__(self)\n        Base.__init__(self, 3)\n"
    )
    text = BASE.partition("{rest}")[0]
    assert mended(tmp_path, 503, text, True) == text
    (tmp_path / "run.py").unlink()
    assert mended(tmp_path, 503, text, True) != text


def test_a_flag_that_is_a_mistake_is_mended(tmp_path):
    text = "import torch\nfrom torch import nn\n\nnet = nn.Linear(2, 2)\nnet.requires_grad = False\n"
    assert mended(tmp_path, 522, text, False) == text.replace("requires_grad = False", "requires_grad_(False)")


def test_weights_alone_are_loaded_as_such(tmp_path):
    text = CHECKPOINT.format(save='torch.save({"state": model.state_dict(), "args": vars(args)}, path)')
    assert mended(tmp_path, 909, text, True) == text.replace("weights_only=False", "weights_only=True")
