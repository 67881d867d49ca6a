"""Looking things up in the source of the user's classes."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import textwrap

import pytest
from torch import nn

from tests.torchsan.conftest import load
from torchsan.program import source
from torchsan.report import wording

PROGRAM = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.left = nn.Linear(2, 2), nn.Linear(2, 2)
        self.total, self.log = 0, {{}}

    def forward(self, x):
        {body}
        return self.used(x)

    def add(self, loss):
        self.total = loss + self.total
        self.log["a"].append(loss)
"""


def net(tmp_path, body="pass", more=""):
    path = tmp_path / f"program_{len(list(tmp_path.iterdir()))}.py"
    path.write_text(PROGRAM.format(body=body) + more, encoding="utf-8")
    return load(path).Net()


@pytest.mark.parametrize(("body", "more", "never"), [
    ("pass", "", True),
    ("self.left(x)", "", False),
    ("pass", "\ndef use(net, x):\n    return net.left(x)\n", False),
    ("getattr(self, 'le' + 'ft')(x)", "", False),
    ("[layer(x) for layer in self.children()]", "", False),
    ("pass", "\nPARTS = ['net.left']\ndef use(net, x, part):\n    return net.get_submodule(part)(x)\n", False),
    ("'what is left of it'", "", True),
])
def test_what_nothing_reads(tmp_path, body, more, never):
    thing = net(tmp_path, body, more)
    assert source.never_read(thing, "left", ()) is never
    assert not source.never_read(thing, "used", ())


def test_files_that_cannot_be_read_may_read_anything(tmp_path):
    assert not source.never_read(net(tmp_path), "left", [str(tmp_path / "gone.py")])
    assert not source.never_read(nn.Linear(2, 2), "bias", ())


def test_what_an_empty_file_reads(tmp_path):
    (tmp_path / "__init__.py").touch()
    assert source.never_read(net(tmp_path), "left", [str(tmp_path / "__init__.py")])


def made_by(text, name="Net", file="<string>"):
    names = {"__name__": __name__}
    exec(compile(text, file, "exec"), names)
    return names[name]()


def test_nothing_is_known_of_a_class_without_its_source(tmp_path):
    """Text that is executed, and a file that is gone, or was never there."""
    text, beside = PROGRAM.format(body="pass"), tmp_path / "main.py"
    beside.write_text("import torch\nprint(torch.__version__)\n", encoding="utf-8")
    for file in ("<string>", str(tmp_path / "gone.py"), "/tmp/ipykernel_1/2.py"):
        assert not source.never_read(made_by(text, file=file), "left", [str(beside)])


def test_nothing_is_known_of_what_a_notebook_may_read_next(tmp_path):
    text, cell = PROGRAM.format(body="pass"), str(tmp_path / "cell.py")
    linecache.cache[cell] = (len(text), None, text.splitlines(True), cell)
    assert not source.never_read(made_by(text, file=cell), "left", ())


@pytest.mark.parametrize(("reads", "never"), [("self.left", False), ("self.used", True), (None, False)])
def test_a_base_of_a_library_is_read_too(tmp_path, reads, never):
    """A base class that reads the layer, one that does not, and one whose source is not there."""
    base = tmp_path / "site-packages" / "base.py"
    base.parent.mkdir()
    text = f"from torch import nn\nclass Base(nn.Module):\n    def forward(self, x):\n        return {reads or 'self.used'}(x)\n"
    if reads is not None:
        base.write_text(text, encoding="utf-8")
    names = {"__name__": "base"}
    exec(compile(text, str(base), "exec"), names)
    own = tmp_path / "own.py"
    own.write_text("from torch import nn\nclass Net(Base):\n    def __init__(self):\n        super().__init__()\n"
                   "        self.used, self.left = nn.Linear(2, 2), nn.Linear(2, 2)\n", encoding="utf-8")
    exec(compile(own.read_text(), str(own), "exec"), names)
    assert source.never_read(names["Net"](), "left", ()) is never


def test_a_class_that_adds_no_code_hides_nothing(tmp_path):
    cls = type(net(tmp_path))
    assert source.never_read(type("Small", (cls,), {"size": 4})(), "left", ())


def test_a_class_is_found_by_where_it_stands_and_not_by_its_name(tmp_path):
    """Of two classes of one name in a file, and of text that calls itself a part of this module."""
    path = tmp_path / "program.py"
    path.write_text("def one():" + textwrap.indent(PROGRAM.format(body="pass"), "    ") + "\n    return Net()\n"
                    "def two():" + textwrap.indent(PROGRAM.format(body="self.left(x)"), "    ") + "\n    return Net()\n",
                    encoding="utf-8")
    module = load(path)
    assert source.assigned(module.one(), "total").line < source.assigned(module.two(), "total").line
    assert source.methods_that_use(module.one(), "left").keys() == {"__init__"}
    assert source.methods_that_use(module.two(), "left").keys() == {"__init__", "forward"}
    text = PROGRAM.format(body="pass").replace("Net", "Known")
    assert source.assigned(made_by(text, "Known"), "left") is None


class Known:
    """Of the same name as one that a test makes of text."""

    def __init__(self):
        self.left = 1


def test_lines_that_grow(tmp_path):
    thing = net(tmp_path)
    assert [source.grows(thing, name).line for name in ("total", "log")] == [16, 17]
    assert source.grows(thing, "used") is None
    tree = ast.parse("a += 1\nb = b + a\nc.append(a)\nd = a\ne[0] += 1\n")
    assert [source.growing_rows(tree, name) for name in "abcde"] == [[1], [2], [3], [], [5]]


def test_fields_of_a_template():
    assert wording.fields("`{call}` and {value!r}") == {"call", "value"}
    assert wording.fields("a lone { brace") == set()


LEFT_OUT = """
import torch
from torch import nn
{more}
CLASS = '''
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.forgotten_head = nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.body(x)
'''
{class_}
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
"""
IN_FILE = LEFT_OUT.replace("CLASS = '''", "").replace("'''\n", "")
UNREAD = re.search(r"forgotten_\w+", LEFT_OUT)[0]  # this file, which is loaded, must not name it where that counts


@pytest.mark.parametrize(("program", "more", "class_", "codes"), [
    (IN_FILE, "", "", ["TS506"]),
    (LEFT_OUT, "", "exec(CLASS)", ["TS119"]),  # no gradient is what was seen
    (IN_FILE, "import probes_of_this_test", "", ["TS119"]),
    (IN_FILE, "import nothing_of_this_test", "", ["TS506"]),
], ids=["in the file", "executed", "read by a module that is loaded", "read by none"])
def test_a_layer_is_never_used_only_where_all_is_read(run, tmp_path, monkeypatch, program, more, class_, codes):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "probes_of_this_test.py").write_text("def probe(net, x):\n    return net.forgotten_head(x)\n")
    (tmp_path / "nothing_of_this_test.py").touch()
    try:
        ran = run(program.replace("{more}", more).replace("{class_}", class_), select="TS506,TS119")
    finally:
        for name in ("probes_of_this_test", "nothing_of_this_test"):
            sys.modules.pop(name, None)
    assert ran.codes == codes, ran.san.report()


@pytest.mark.parametrize(("text", "codes"), [
    ("def start():\n    global ran\n    ran = run(program, select='TS506,TS119')\n\nstart()", ["TS506"]),
    ("ran = run(program, select='TS506,TS119')\nif ran is None:\n    ran.UNREAD", ["TS119"]),
    ("ran = run(program, select='TS506,TS119')\nhead = 'net.UNREAD'", ["TS119"]),
], ids=["says nothing of it", "reads it", "names it"])
def test_what_starts_a_program_may_be_a_text(run, text, codes):
    """`python -c`, the workers of pytest-xdist: there is no file to be read, but the code itself."""
    names = {"run": run, "program": IN_FILE.replace("{more}", "").replace("{class_}", "")}
    exec(text.replace("UNREAD", UNREAD), names)
    assert names["ran"].codes == codes, names["ran"].san.report()


def test_a_text_of_which_a_part_alone_is_running_may_read_anything(run):
    names = {"run": run, "program": IN_FILE.replace("{more}", "").replace("{class_}", "")}
    text = "def start():\n    return run(program, select='TS506,TS119')\n\ndef other(net):\n    return net.UNREAD"
    exec(text.replace("UNREAD", UNREAD), names)
    assert names["start"]().codes == ["TS119"]


def test_a_file_is_parsed_once():
    """Who finds a node in its tree finds the same one again: 110 compares them."""
    assert source.tree_of(__file__) is source.tree_of(__file__)
