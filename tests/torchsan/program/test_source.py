"""Looking things up in the source of the user's classes."""

from __future__ import annotations

import ast

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
])
def test_what_nothing_reads(tmp_path, body, more, never):
    thing = net(tmp_path, body, more)
    assert source.never_read(thing, "left", ()) is never
    assert not source.never_read(thing, "used", ())


def test_files_that_cannot_be_read_may_read_anything(tmp_path):
    assert not source.never_read(net(tmp_path), "left", [str(tmp_path / "gone.py")])
    assert not source.never_read(nn.Linear(2, 2), "bias", ())


def test_lines_that_grow(tmp_path):
    thing = net(tmp_path)
    assert [source.grows(thing, name).line for name in ("total", "log")] == [16, 17]
    assert source.grows(thing, "used") is None
    tree = ast.parse("a += 1\nb = b + a\nc.append(a)\nd = a\ne[0] += 1\n")
    assert [source.growing_rows(tree, name) for name in "abcde"] == [[1], [2], [3], [], [5]]


def test_fields_of_a_template():
    assert wording.fields("`{call}` and {value!r}") == {"call", "value"}
    assert wording.fields("a lone { brace") == set()
