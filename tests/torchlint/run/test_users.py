"""Which files are judged beside one that was asked for: those that have something of it, by whatever name."""

import pytest

from torchlint.files.modules import Modules
from torchlint.run.users import Users

NET = "class Net:\n    pass\n"


def users(folder, texts):
    """The files that have something of `net.py`."""
    paths = {name: folder / name for name in {"pack/net.py": NET, **texts}}
    for name, text in {"pack/net.py": NET, **texts}.items():
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].write_text(text)
    found = Users(Modules()).of([str(paths["pack/net.py"])], list(map(str, paths.values())))
    return {name for name, path in paths.items() if str(path) in found}


HUB = "from .net import Net\nfrom .other import thing\n"


@pytest.mark.parametrize(
    ("between", "user", "has"),
    [
        (HUB, "import pack\n\nif __name__ == '__main__':\n    pack.Net()\n", True),
        (HUB, "import pack\npack.thing()\n", False),
        (HUB, "from pack import *\nmake()\n", True),
        (HUB + "def build():\n    return Net()\n", "import pack\npack.build()\n", True),
        (HUB + "def other():\n    return 1\n", "import pack\npack.other()\n", False),
        (HUB + "class Mine(Net):\n    pass\n", "from pack import Mine\n", True),
        (HUB + "class Mine(Net):\n    pass\nclass Yours(Mine):\n    pass\n", "from pack import Yours\n", True),
        (HUB + "MODELS = {'net': Net}\n", "from pack import MODELS\n", True),
        (HUB + "table['net'] = Net\n", "import pack\npack.thing()\n", True),
        (HUB + "register(Net)\n", "import pack\npack.thing()\n", True),
        (HUB + "register(net=Net)\n", "import pack\npack.thing()\n", True),
        (HUB + "@register\ndef build():\n    return Net()\n", "import pack\npack.thing()\n", True),
        (HUB + "@torch.no_grad()\ndef build():\n    return Net()\n", "import pack\npack.thing()\n", False),
        (HUB + "try:\n    from .fast import build\nexcept ImportError:\n    def build():\n        return Net()\n", "from pack import build\n", True),
        (HUB + "if __name__ == '__main__':\n    Net()\n", "import pack\npack.thing()\n", False),
        ('"""Holds\nNet and thing\n"""\n' + HUB, "import pack\npack.thing()\n", False),
        ("from .net import *\n", "from pack import Net\n", True),
        ("from . import net\n", "import pack\npack.net.Net()\n", True),
    ],
)
def test_by_way_of_a_package(tmp_path, between, user, has):
    found = users(tmp_path, {"pack/__init__.py": between, "pack/other.py": "def thing(): pass\n", "user.py": user})
    assert "pack/__init__.py" in found
    assert ("user.py" in found) is has


def test_what_puts_itself_into_a_register_is_used_by_all_that_import_its_package(tmp_path):
    texts = {
        "pack/net.py": "from .register import register\n@register\nclass Net:\n    pass\n",
        "pack/__init__.py": "from . import net\n",
        "pack/register.py": "KNOWN = []\ndef register(cls):\n    KNOWN.append(cls)\n    return cls\n",
        "user.py": "import pack\nfrom pack.register import KNOWN\nKNOWN[0]()\n",
    }
    assert "user.py" in users(tmp_path, texts)


def test_a_file_that_imports_it_is_there_whatever_it_mentions(tmp_path):
    assert users(tmp_path, {"user.py": "import pack.net as n\nn.load()\n"}) == {"user.py"}


def test_a_file_that_adds_the_folder(tmp_path):
    text = "import sys\n{}from net import Net\nNet()\n"
    texts = {"setup.cfg": "", "user.py": text.format("sys.path.append('pack')\n"), "tools/run.py": text.format("sys.path.append('../pack')\n"),
             "other.py": text.format("sys.path.append('elsewhere')\n"), "mute.py": text.format("")}
    assert users(tmp_path, texts) == {"user.py", "tools/run.py"}


def test_names_go_on_over_files(tmp_path):
    texts = {
        "first.py": "from pack.net import Net\ndef build():\n    return Net()\n",
        "second.py": "import first\nclass Trainer:\n    def __init__(self):\n        self.net = first.build()\n",
        "third.py": "from second import Trainer\nTrainer().fit()\n",
        "fourth.py": "from second import something\nsomething()\n",
    }
    assert users(tmp_path, texts) == {"first.py", "second.py", "third.py"}


def test_what_is_asked_for_whole_needs_nobody_else(tmp_path):
    (tmp_path / "net.py").write_text(NET)
    assert Users(Modules()).of([str(tmp_path / "net.py")], [str(tmp_path / "net.py")]) == []


def test_a_file_that_has_changed_gives_what_it_has_now(tmp_path):
    net, hub, user = (str(tmp_path / name) for name in ("net.py", "hub.py", "user.py"))
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "hub.py").write_text("from net import Net\ndef build():\n    return 1\n")
    (tmp_path / "user.py").write_text("import hub\nhub.build()\n")
    users = Users(Modules())
    assert users.of([net], [net, hub, user]) == [hub]
    (tmp_path / "hub.py").write_text("from net import Net\ndef build():\n    return Net()\n")
    users.look_again()
    assert users.of([net], [net, hub, user]) == [hub, user]
