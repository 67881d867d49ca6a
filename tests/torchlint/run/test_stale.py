"""A run with a cache says what a run without one says, whatever came, went or changed in the tree between them."""

import os
import random
import shutil

import pytest

from tests.torchlint.files.test_project import BOOK, MODEL
from tests.torchlint.support import ROOT, write
from torchlint.catalogue.pages import Catalogue
from torchlint.run.runner import Runner
from torchlint.settings.lookup import load
from torchlint.settings.rulebook import load_rules

SOFT = "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return nn.functional.softmax(x, 1)\n"
PLAIN = SOFT.replace("nn.functional.softmax(x, 1)", "x * 2")
TRAIN = """import torch
from torch import nn
{imports}

def train(loader, parameters):
    net, optimizer = {net}(), torch.optim.SGD(parameters, 0.1)
    for x, y in loader:
        optimizer.zero_grad()
        with torch.cuda.amp.autocast():
            loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""


def train(imports, net="Net"):
    """A program whose loss is wrong if the net that it imports ends in a softmax."""
    return TRAIN.format(imports=imports, net=net)


def only(*numbers):
    """The rules of some numbers: few, so that a run is fast."""
    return Catalogue(rule for rule in load_rules(load([ROOT])) if rule.code in numbers)


# 301: the net's end; 402: who imports the model; 708: which torch.
RULES = only(301, 402, 708)


def said(root, **how):
    """What a run says of a tree."""
    config = load([root])
    outcome = Runner(config, tuple(RULES), RULES).run([str(root)], jobs=1, **how)
    return outcome.findings, outcome.problems, outcome.files


def both(root):
    """What a run with a cache says, and one without."""
    return said(root), said(root, use_cache=False)


# By name: what is there at first, and what comes.
COMES = {
    "nothing found before": (
        {"train.py": train("from net import Net")}, {"net.py": SOFT}),
    "a package, and no file": (
        {"train.py": train("from net import Net")}, {"net/__init__.py": SOFT}),
    "a package before a file": (
        {"train.py": train("from net import Net"), "net.py": PLAIN}, {"net/__init__.py": SOFT}),
    "a nearer file": (
        {"pkg/train.py": train("from net import Net"), "net.py": PLAIN}, {"pkg/net.py": SOFT}),
    "in src": (
        {"train.py": train("from net import Net")}, {"src/net.py": SOFT}),
    "a relative one": (
        {"pkg/train.py": train("from .net import Net")}, {"pkg/net.py": SOFT}),
    "a part of a package": (
        {"train.py": train("from lib.net import Net"), "lib/__init__.py": ""}, {"lib/net.py": SOFT}),
    "a folder of packages": (
        {"train.py": train("from lib.net import Net")}, {"lib/net.py": SOFT}),
    "behind a star": (
        {"train.py": train("from lib import *"), "lib.py": "from net import *\n"}, {"net.py": SOFT}),
    "a module of a package": (
        {"train.py": train("from lib import net", "net.Net"), "lib/__init__.py": ""}, {"lib/net.py": SOFT}),
    "what a helper imports": (
        {"train.py": train("from lib import Net"), "lib.py": "from net import Net\n"}, {"net.py": SOFT}),
    "a notebook's": (
        {"run.ipynb": BOOK.replace("from model import Reader\\n", train("from net import Net").replace("\n", "\\n")) % "x = 1"},
        {"net.py": SOFT}),
    "a mark that leaves out who moves the model": (
        {"pkg/model.py": MODEL, "pkg/x.py": "", "use.py": "from pkg.model import Reader\nReader(8).cuda()\n"},
        {"pkg/pyproject.toml": ""}),
    "who moves the model": (
        {"model.py": MODEL, "train.py": "from model import Reader\nReader(8)\n"},
        {"serve.py": "from model import Reader\nReader(8).cuda()\n"}),
    "what the user of a model imports": (
        {"model.py": MODEL, "use.py": "from tools import place\nfrom model import Reader\nplace(Reader(8))\n"},
        {"tools.py": "def place(net):\n    return net.cuda()\n"}),
    "in a folder that is in no list": (
        {"model.py": MODEL, "use.py": "from env.model import Reader\nReader(8)\n"}, {"env/model.py": ""}),
    "in a folder that the program adds": (
        {"pkg/train.py": train("import sys\nsys.path.append('../lib')\nfrom net import Net"), "lib/zero.py": ""}, {"lib/net.py": SOFT}),
    "a folder that the program adds": (
        {"train.py": train("import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), 'lib'))\nfrom net import Net")},
        {"lib/net.py": SOFT}),
    "a nearer folder that the program adds": (
        {"pkg/train.py": train("import sys\nsys.path.append('lib')\nfrom net import Net"), "lib/net.py": PLAIN}, {"pkg/lib/net.py": SOFT}),
    "before the folder that the program adds": (
        {"train.py": train("import sys\nsys.path.append('lib')\nfrom net import Net"), "lib/net.py": PLAIN}, {"net.py": SOFT}),
    "a package, and no file of the folder that the program adds": (
        {"train.py": train("import sys\nsys.path.append('lib')\nimport net", "net.Net"), "lib/net.py": SOFT}, {"net/zero.py": ""}),
    "in a folder that a helper adds": (
        {"train.py": train("from helper import Net"), "helper.py": "import sys\nsys.path.append('lib')\nfrom net import Net\n"},
        {"lib/net.py": SOFT}),
    "who moves the model, which is in a folder that it adds": (
        {"lib/model.py": MODEL, "train.py": "import sys\nsys.path.append('lib')\nfrom model import Reader\nReader(8)\n"},
        {"serve.py": "import sys\nsys.path.append('lib')\nfrom model import Reader\nReader(8).cuda()\n"}),
    "a mark that puts the folder out of the project": (
        {"own/train.py": train("import sys\nsys.path.append('../lib')\nfrom net import Net"), "lib/net.py": SOFT}, {"own/setup.cfg": ""}),
    "a file of a name that is nobody's": (
        {"train.py": train("from net import Net"), "net.py": SOFT}, {"zero.py": ""}),
}


HELPER = "import sys\n{}from net import Net\n"


def test_a_helper_that_adds_another_folder(tmp_path):
    """Where a helper looks for what it imports is part of what its users see of it."""
    helpers = [HELPER.format(added) for added in ("", "sys.path.append('lib')\n", "sys.path.append('more')\n")]
    root = write(tmp_path, {"setup.cfg": "", "train.py": train("from helper import Net"), "lib/net.py": SOFT, "more/net.py": PLAIN})
    told = []
    for helper in (*helpers, *helpers):
        write(root, {"helper.py": helper})
        with_cache, without = both(root)
        assert with_cache == without
        told.append(len(without[0]))
    assert told == [1, 2, 1, 1, 2, 1]


@pytest.mark.parametrize("name", COMES)
def test_a_file_that_comes_and_goes(tmp_path, name):
    before, comes = COMES[name]
    root = write(tmp_path / "root", {"setup.cfg": "", **before})
    first = both(root)
    assert first[0] == first[1]
    write(root, comes)
    second = both(root)
    assert second[0] == second[1]
    for path in comes:
        (root / path).unlink()
    third = both(root)
    assert third[0] == third[1] and third[1][0] == first[1][0]


def test_a_file_that_is_too_large_until_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr("torchlint.files.project.MOST_BYTES", 1000)
    moves = "from model import Reader\nReader(8).cuda()\n"
    root = write(tmp_path, {"setup.cfg": "", "model.py": MODEL, "train.py": "from model import Reader\nReader(8)\n",
                            "serve.py": moves + "#" * 1000})
    first = both(root)
    assert first[0] == first[1]
    write(root, {"serve.py": moves})
    second = both(root)
    assert second[0] == second[1] and second[1][0] != first[1][0]


PROGRAMS = [
    train(f"from {module} import {what}", net)
    for module in ("net", ".net", "pkg.net", "pkg", ".", "..net")
    for what, net in (("Net", "Net"), ("*", "Net"), ("net", "net.Net"))
] + 8 * [train("from net import Net")] + [train("import net", "net.Net"), train("import pkg.net as net", "net.Net"), MODEL,
     *(train(f"import sys\nsys.path.append('{folder}')\nfrom net import Net") for folder in ("pkg", "../src", "deep", "./pkg/deep")),
     "from model import Reader\nReader(8).cuda()\n", "from pkg.model import Reader\nReader(8)\n"]
PARTS = 6 * [SOFT] + 3 * [PLAIN] + [ "", "x = (\n", b"# coding: latin-1\n# \xe9\n" + SOFT.encode(), b"\xff", SOFT.replace("\n", "\r\n"),
         "import sys\nsys.path.insert(0, 'pkg')\nfrom net import Net\n", "from .net import Net\n", "from net import *\n", "from pkg.net import Net\n", "from . import net\n", MODEL]
SETTINGS = {
    "requirements.txt": ["torch>=1.5\n", "torch>=2.5\n", "x\n"],
    "environment.yml": ["dependencies:\n  - pytorch=2.6\n"],
    "pyproject.toml": ["[tool.torchlint]\nexclude = ['pkg']\n", "[tool.torchlint]\ntorch-version = '1.6'\n", "",
                       "[tool.torchlint]\nper-file-ignores = {'pkg/**' = ['TL301']}\n"],
    "torchlint.toml": ["severity = {correctness = 'note'}\n"],
    "setup.py": [""], "pkg/setup.py": [""], "pkg/deep/pyproject.toml": [""], ".gitignore": ["net.py\n", "pkg/\n", "*.py\n!net.py\n"],
    "pkg/.gitignore": ["train.py\n"], ".git/HEAD": [""], "../setup.cfg": [""], "../requirements.txt": ["torch>=2.4\n"],
}
FOLDERS = ["", "pkg/", "pkg/deep/", "src/", "../", "env/"]
NAMES = ["net.py", "net/__init__.py", "__init__.py", "model.py", "pkg/net.py"]


def edit(root, draw):
    """One change of a tree, as people make them; says which."""
    files = sorted(os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root.parent)
                   for name in names if ".torchlint_cache" not in folder)
    what = draw.random()
    if what < 0.25 and files:
        path = draw.choice(files)
        (root / path).unlink()
        return f"removed {path}"
    if what < 0.3:
        path = draw.choice(["pkg", "src", "env", "pkg/deep"])
        if (root / path).is_symlink():
            (root / path).unlink()
        else:
            shutil.rmtree(root / path, ignore_errors=True)
        return f"removed {path}/"
    if what < 0.35:
        path, target = root / draw.choice(["src", "env", "pkg", "net"]), draw.choice(["pkg", "src", "../pkg"])
        if not path.exists() and not path.is_symlink():
            path.symlink_to(target)
        return f"linked {path} to {target}"
    if what < 0.5 and files:
        path, target = draw.choice(files), draw.choice(FOLDERS) + draw.choice(NAMES)
    elif what < 0.65:
        path, target = "", draw.choice(list(SETTINGS))
        content = draw.choice(SETTINGS[target])
    elif what < 0.8:
        path, target = "", draw.choice(FOLDERS) + draw.choice(["train.py", "run.py"])
        content = draw.choice(PROGRAMS)
    else:
        path, target = "", draw.choice(FOLDERS) + draw.choice(NAMES)
        content = draw.choice(PARTS)
    try:
        if path:
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            os.replace(root / path, root / target)
        else:
            write(root, {target: content})
    except OSError:  # a file where a folder would have to be, or the reverse
        return "nothing"
    return f"{path} -> {target}" if path else f"wrote {target}: {content!r}"


@pytest.mark.parametrize("seed", range(10))
def test_edits_in_any_order(tmp_path, seed):
    """Twenty sequences of three edits each, the first of all on one program, each other where the last one has ended."""
    draw = random.Random(seed)
    root = tmp_path / "above" / "root"
    write(root, {"train.py": train("from net import Net")})
    done, wrong = [], 0
    for _ in range(60):
        done.append(edit(root, draw))
        with_cache, without = both(root)
        assert with_cache == without, done
        wrong += bool(without[0])
    assert wrong  # else there was nothing that could have been out of date
