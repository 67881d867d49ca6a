"""Functions of torch that are replaced while a watch runs: wherever they are known, and put back there."""

from __future__ import annotations

import sys
import types

import pytest
import torch
import torch.nn.functional as F

import torchsan
from torchsan.stream import patches as patching
from torchsan.stream.patches import Patches


@pytest.fixture
def module():
    """A module of the user's, which has torch's functions under names of its own."""
    made = types.ModuleType("users")
    made.__file__ = "/project/users.py"
    made.ce, made.relu = F.cross_entropy, F.relu
    sys.modules["users"] = made
    yield made
    del sys.modules["users"]


def other(original):
    return lambda *args: original(*args)


def test_in_every_place_and_back(module):
    relu, ce = F.relu, F.cross_entropy
    patches = Patches()
    patches.functions(F, {"relu": other, "cross_entropy": other, "no_such_function": other})
    assert F.relu is module.relu is not relu and F.cross_entropy is module.ce is not ce
    patches.undo()
    assert F.relu is module.relu is relu and F.cross_entropy is module.ce is ce


def test_one_on_top_of_another_of_the_same(module):
    relu = F.relu
    patches = Patches()
    patches.function(F, "relu", lambda original: lambda *args: ["first", original])
    patches.function(F, "relu", lambda original: lambda *args: ["second", *original(*args)])
    assert F.relu() == module.relu() == ["second", "first", relu]
    patches.undo()
    assert F.relu is module.relu is relu


def test_together(module):
    relu, ce, tanh = F.relu, F.cross_entropy, torch.tanh
    patches = Patches()
    with pytest.raises(KeyError), patches.together():
        patches.function(F, "relu", other)
        assert F.relu is relu
        patches.function(torch, "tanh", other)
        raise KeyError  # a probe that does not work with this torch
    assert F.relu is module.relu is not relu and torch.tanh is not tanh
    patches.function(F, "cross_entropy", other)
    assert module.ce is not ce
    patches.undo()
    assert (F.relu, module.relu, module.ce, torch.tanh) == (relu, relu, ce, tanh)


def test_a_watch_walks_twice(monkeypatch):
    """Through all modules, of which a program has thousands; and asks nobody who holds what nobody holds."""
    walks, asked = [], []
    walk, hand_back = patching._walk, patching._hand_back
    monkeypatch.setattr(patching, "_walk", lambda swaps: walks.append(len(swaps)) or walk(swaps))
    monkeypatch.setattr(patching, "_hand_back", lambda made: asked.append(made) or hand_back(made))
    with torchsan.watch(on_finding="collect"):
        pass
    assert len(walks) == 2 and walks[0] == walks[1] > 10
    assert asked == [[]]
