"""129: steps that change next to nothing, and the models that need no more."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

import torchsan


def training(rate):
    """A small model and one step of its training, on the same batch every time."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    inputs, targets = torch.randn(16, 8), torch.randint(0, 4, (16,))

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    return model, step


def codes(model, step):
    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(160):
            step()
    assert not san.off
    return [finding.code for finding in san.findings]


def test_steps_of_next_to_nothing_are_found():
    assert codes(*training(1e-7)) == ["TS129"]


def test_a_model_that_was_trained_before_the_watch_may_have_converged():
    model, step = training(1e-7)
    for _ in range(60):
        step()
    assert codes(model, step) == []
