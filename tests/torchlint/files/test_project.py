"""The files that import the judged one: what they never do, the code that they use need not stand."""

import hashlib
import os

import pytest

from tests.torchlint.dryrun.support import RULES
from tests.torchlint.support import write
from torchlint.dryrun.world import World
from torchlint.engine import Engine
from torchlint.files.disk import Disk

MODEL = """import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.gru = nn.GRU(width, width)

    def forward(self, x):
        start = torch.zeros(1, x.size(1), self.width)
        return self.gru(x, start)[0]
"""
TRAIN = """import torch
from {module} import Reader

model = Reader(8){move}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.load("batches.pt"):
    optimizer.zero_grad()
    loss = (model(x{move}) - y{move}).square().mean()
    loss.backward()
    optimizer.step()
"""
BOOK = (
    '{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["from model import Reader\\n", "%s"]}], '
    '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)

# Each case: the files, and whether the tensor that `forward` makes in the first of them is a mistake.
PROJECTS = {
    "nobody uses it": ({"model.py": MODEL}, True),
    "used on the CPU": ({"model.py": MODEL, "train.py": TRAIN.format(module="model", move="")}, False),
    "moved": ({"model.py": MODEL, "train.py": TRAIN.format(module="model", move=".cuda()")}, True),
    "moved in one of two": (
        {"model.py": MODEL, "train.py": TRAIN.format(module="model", move=""),
         "serve.py": "from model import Reader\nmodel = Reader(8).to('cuda')\n"}, True,
    ),
    "moved by one that imports the user": (
        {"model.py": MODEL, "net.py": "from model import Reader\ndef build():\n    return Reader(8)\n",
         "train.py": "from net import build\nmodel = build().cuda()\n"}, True,
    ),
    "moved by a helper of the user": (
        {"model.py": MODEL, "tools.py": "def place(model):\n    return model.cuda()\n",
         "train.py": "from tools import place\n" + TRAIN.format(module="model", move="")}, True,
    ),
    "a package": (
        {"lib/models/reader.py": MODEL, "lib/models/__init__.py": "from .reader import Reader\n", "lib/__init__.py": "",
         "train.py": TRAIN.format(module="lib.models", move="")}, False,
    ),
    "in a folder that its user adds": (
        {"lib/model.py": MODEL, "train.py": "import sys\nsys.path.append('lib')\n" + TRAIN.format(module="model", move="")}, False,
    ),
    "moved by one that adds its folder": (
        {"lib/model.py": MODEL, "tools/train.py": "import sys\nsys.path.append('../lib')\n" + TRAIN.format(module="model", move=".cuda()")},
        True,
    ),
    "only gathered in a package": ({"lib/reader.py": MODEL, "lib/__init__.py": "from .reader import Reader\n"}, True),
    "others move others": (
        {"model.py": MODEL, "train.py": TRAIN.format(module="model", move=""),
         "other.py": "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\n"}, False,
    ),
    "only commented out": (
        {"model.py": MODEL, "train.py": TRAIN.format(module="model", move="") + "# model.cuda()\n"}, False,
    ),
    "a notebook": ({"model.py": MODEL, "run.ipynb": BOOK % "model = Reader(8)"}, False),
    "a notebook moves it": ({"model.py": MODEL, "run.ipynb": BOOK % "model = Reader(8).cuda()"}, True),
    "flags that nothing asks": (
        {"model.py": MODEL, "train.py": "use_gpu = False\n" + TRAIN.format(module="model", move="")}, False,
    ),
}


@pytest.mark.parametrize("name", PROJECTS)
def test_whether_a_model_is_moved(tmp_path, name):
    files, wrong = PROJECTS[name]
    write(tmp_path, {"setup.cfg": "", **files})
    path = next(iter(files))
    judged = Engine(RULES).check(str(tmp_path / path), files[path])
    assert [(f.location.row, f.number) for f in judged.findings] == ([(12, 402)] if wrong else [])


def test_verdict_depends_on_the_files_that_were_looked_at_and_on_new_ones(tmp_path):
    write(tmp_path, {"setup.cfg": "", "model.py": MODEL, "train.py": TRAIN.format(module="model", move="")})
    depends = Engine(RULES).check(str(tmp_path / "model.py"), MODEL).depends
    assert depends[str(tmp_path / "train.py")] == hashlib.sha256((tmp_path / "train.py").read_bytes()).hexdigest()
    before = depends[str(tmp_path) + os.sep]
    assert before == Disk().digest(f"{tmp_path}{os.sep}")
    write(tmp_path, {"serve.py": ""})
    assert Disk().digest(f"{tmp_path}{os.sep}") != before


def test_nothing_is_read_where_nothing_is_found(tmp_path):
    text = MODEL.replace("torch.zeros", "x.new_zeros")
    write(tmp_path, {"setup.cfg": "", "model.py": text, "train.py": TRAIN.format(module="model", move="")})
    assert Engine(RULES).check(str(tmp_path / "model.py"), text).depends == {}


def test_a_project_is_bounded_and_survives_what_is_no_python(tmp_path, monkeypatch):
    write(tmp_path, {"setup.cfg": "", "model.py": MODEL, "bad.py": b"\xff\xfe", "bad.ipynb": "{", "a/b/c.py": "x = (\n"})
    os.symlink(tmp_path, tmp_path / "a" / "again")
    os.mkfifo(tmp_path / "pipe.py")
    world = World()
    path = str(tmp_path / "model.py")
    known = {os.path.basename(file.path): bool(file.code) for file in world.project_of(path).files.values()}
    assert known == {"c.py": True, "model.py": True, "bad.py": False, "bad.ipynb": False}
    monkeypatch.setattr("torchlint.files.project.MOST_FILES", 1)
    assert World().project_of(path) is None
    assert world.project_of(str(tmp_path / "gone.py")) is None


WRAPPED = """import torch
from torch import nn


def train(net: nn.Module, loader, path):
    model = nn.DataParallel(net.cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    torch.save(model.state_dict(), path)
"""
# What another file does with the state of a wrapper, and whether the names in it are a mistake.
LOADERS = {
    "wraps first": ("model = torch.nn.DataParallel(Net())\nmodel.load_state_dict(torch.load('model.pt'))\n", False),
    "takes the name off": ("state = {key[7:]: value for key, value in torch.load('model.pt').items()}\n", False),
    "replaces the name": ("state = {k.replace('module.', ''): v for k, v in torch.load('model.pt').items()}\n", False),
    "loads it as it is": ("model = Net()\nmodel.load_state_dict(torch.load('model.pt'))\n", True),
    "wraps later": ("model = Net()\nmodel.load_state_dict(torch.load('model.pt'))\n# nn.DataParallel(model)\n", True),
    "loads nothing": ("model = torch.nn.DataParallel(Net())\n", True),
}


@pytest.mark.parametrize("name", LOADERS)
def test_who_loads_the_state_of_a_wrapper(tmp_path, name):
    text, wrong = LOADERS[name]
    write(tmp_path, {"setup.cfg": "", "train.py": WRAPPED, "tools/test.py": "import torch\nfrom net import Net\n" + text})
    judged = Engine(RULES).check(str(tmp_path / "train.py"), WRAPPED)
    assert [(f.location.row, f.number) for f in judged.findings] == ([(12, 808)] if wrong else [])
