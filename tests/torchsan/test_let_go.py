"""A model dies when the program lets go of it, watched or not, and is judged before it does."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import torchsan
from torchsan.checks.modules.unregistered_parts import Unregistered


class Net(nn.Module):
    """A model with layers in a list, which torch does not know of (TS501)."""

    def __init__(self):
        super().__init__()
        self.first, self.rest = nn.Linear(4, 8), [nn.Linear(8, 8)]

    def forward(self, x):
        return self.rest[0](self.first(x))


class Cyclic(Net):
    def __init__(self):
        super().__init__()
        self.rest.append(Reader(self))


class Reader(nn.Module):
    def __init__(self, parent):
        super().__init__()
        self.parent = (parent,)


class SaysGoodbye(Net):
    gone: list[str] = []

    def __del__(self):
        self.gone.append("gone")


def called(kind, train=False):
    model = kind()
    if train:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 8)).backward()
            optimizer.step()
    else:
        with torch.no_grad():
            model(torch.randn(2, 4))
    return weakref.ref(model), weakref.ref(model.first.weight)


def _given(model):
    return model


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("train", [True, False])
def test_at_once(train, level):
    with torchsan.watch(on_finding="collect", level=level) as san:
        references = called(Net, train)
        assert [one() for one in references] == [None, None]
    assert [finding.code for finding in san.findings] == ["TS501"]
    assert "__del__" not in vars(nn.Module)


def test_by_the_collector():
    with torchsan.watch(on_finding="collect") as san:
        references = called(Cyclic)
        gc.collect()
        assert [one() for one in references] == [None, None]
    assert [finding.code for finding in san.findings] == ["TS501"]


def test_while_a_check_is_at_work(monkeypatch):
    """It is judged at the end of the watch, and let go of when the next one is built."""
    from torchsan.stream import events

    with torchsan.watch(on_finding="collect") as san:
        model = Net()
        model(torch.randn(2, 4))
        with events.quiet():
            del model
    assert [finding.code for finding in san.findings] == ["TS501"]


def test_a_class_with_an_end_of_its_own():
    with torchsan.watch(on_finding="collect") as san:
        references = called(SaysGoodbye)
        nn.Linear(1, 1)
        assert [one() for one in references] == [None, None] and SaysGoodbye.gone == ["gone"]
        called(SaysGoodbye)
    assert [finding.code for finding in san.findings] == ["TS501"]


def test_what_is_found_then_is_raised_at_the_end():
    with pytest.raises(torchsan.SanError, match="TS501"):
        with torchsan.watch(on_finding="raise"):
            called(Net)


def test_a_model_that_was_given():
    model = Net()
    reference = weakref.ref(model)
    with torchsan.watch(model, on_finding="collect") as san:
        model(torch.randn(2, 4))
        del model
        assert reference() is None
    assert [finding.code for finding in san.findings] == ["TS501"]


def test_a_watch_that_is_over():
    model = Net()
    reference = weakref.ref(model)
    with torchsan.watch(model, on_finding="collect") as san:
        called(partial(_given, model), True)
    del model
    assert reference() is None and san.findings


def test_a_replica_is_no_model_that_ends(monkeypatch):
    """DataParallel makes them anew for each call; their weights are plain tensors."""
    told = []
    monkeypatch.setattr(Unregistered, "on_module_end", lambda self, event: told.append(event.subject))
    with torchsan.watch(on_finding="collect"):
        model = nn.Linear(4, 3)
        model(torch.randn(2, 4))
        replica = model._replicate_for_data_parallel()
        replica.weight, replica.bias = model.weight.clone(), model.bias.clone()
        del replica
        assert not told
        del model
        assert len(told) == 1
