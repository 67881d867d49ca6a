"""Which operand is on the wrong device, on machines that have them all: stand-ins for modules and tensors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from torchsan.errors.devices import left_behind
from torchsan.errors.operands import Operand


class Layer:
    """A module of parameters on these devices, and of other modules."""

    def __init__(self, *devices, parts=()):
        self.own = [tensor(device) for device in devices]
        self.parts = parts

    def parameters(self):
        return [*self.own, *(p for part in self.parts for p in part.parameters())]


def tensor(device):
    return SimpleNamespace(device=torch.device(device))


def operands(*values):
    return [Operand("x", value, None) for value in values]


@pytest.mark.parametrize(("layer", "rest", "given", "left"), [
    ("cpu", ["cuda:0"], "cuda:0", True),
    ("cuda:0", ["cpu", "cpu"], "cpu", True),  # the only one that was moved
    ("cpu", ["cuda:0", "cuda:1"], "cuda:1", True),
    ("cuda:0", ["cuda:0"], "cpu", False),  # the input
    ("cpu", ["cpu"], "cuda:0", False),
    ("cuda:1", ["cuda:0"], "cuda:0", False),  # spread on purpose
    ("cpu", ["cpu", "cuda:0"], "cuda:0", False),  # half of the model is there
    ("cpu", [], "cuda:0", False),  # there is no rest
    ("cpu", ["cuda:0"], "meta", False),  # neither here nor there
])
def test_a_layer_left_behind(layer, rest, given, left):
    inner = Layer(layer)
    root = Layer(*rest, parts=[inner])
    found = left_behind([root, inner], operands(inner.own[0], tensor(given)))
    assert found is (inner if left else None)


def test_the_whole_of_what_was_left_is_named():
    inner = Layer("cpu")
    block = Layer(parts=[inner, Layer("cpu")])
    root = Layer("cuda:0", parts=[block])
    assert left_behind([root, block, inner], operands(inner.own[0], tensor("cuda:0"))) is block


def test_a_layer_that_is_not_at_work_is_not_blamed():
    inner = Layer("cpu")
    root = Layer("cuda:0", parts=[inner])
    assert left_behind([root, inner], operands(root.own[0], tensor("cuda:0"))) is None
