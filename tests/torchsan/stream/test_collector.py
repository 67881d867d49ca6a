"""While a watch begins Python's collector is rarely at work, and is the program's own again afterwards."""

from __future__ import annotations

import gc
from contextlib import nullcontext

import pytest
import torch
from torch import nn

import torchsan
from torchsan.stream.collector import patient


@pytest.fixture(autouse=True)
def as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.enable()


def collections_of(model, watched):
    """How many collections the first steps make."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    made = []
    gc.collect()
    gc.callbacks.append(lambda phase, _: made.append(phase))
    try:
        with torchsan.watch(model, on_finding="collect") if watched else nullcontext():
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(4, 2)).sum().backward()
                optimizer.step()
            return len(made) // 2
    finally:
        gc.callbacks.pop()


def test_the_beginning_of_a_watch_over_many_layers_is_not_full_of_collections():
    model = nn.Sequential(*[part for _ in range(1000) for part in (nn.ReLU(), nn.Linear(2, 2))])
    collections_of(nn.Linear(2, 2), True)
    assert collections_of(model, True) < collections_of(model, False) + 30


@pytest.mark.parametrize("threshold", [(700, 10, 10), (0, 10, 10), (300_000, 5, 5)])
def test_thresholds_are_put_back(threshold):
    gc.set_threshold(*threshold)
    model = nn.Linear(2, 2)
    with torchsan.watch(model, on_finding="collect"):
        assert gc.get_threshold() == threshold
        model(torch.randn(4, 2))
        assert gc.get_threshold() == threshold
    assert gc.get_threshold() == threshold and gc.isenabled()


def test_what_the_program_sets_inside_stays():
    with patient():
        gc.set_threshold(900, 9, 9)
    assert gc.get_threshold() == (900, 9, 9)


def test_where_nothing_is_collected_nothing_changes():
    gc.disable()
    before = gc.get_threshold()
    with patient():
        assert gc.get_threshold() == before and not gc.isenabled()
    assert not gc.isenabled()
