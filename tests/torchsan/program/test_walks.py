"""Checks that hear one event share its walks, and nothing is kept of them afterwards."""

import weakref

import torch
from torch import nn

import torchsan
from torchsan.program import walks


def test_each_walk_is_its_own_outside_of_an_event():
    model = nn.Sequential(nn.Linear(2, 2))
    before = walks.parts_of(model)
    model.append(nn.ReLU())
    assert len(before) == 2 and len(walks.parts_of(model)) == 3


def test_one_walk_an_event(monkeypatch):
    walked = []
    gather = walks._gather

    def counted(module, found):
        walked.append(module)
        gather(module, found)

    monkeypatch.setattr(walks, "_gather", counted)
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, on_finding="collect"):
        walked.clear()
        model(torch.randn(3, 2)).sum().backward()
        of_one_step = len(walked)
        optimizer.step()
    assert 0 < of_one_step <= 5  # a forward, its end, the backward; 12 where each check walks for itself
    assert not walks.of_this_event


def test_a_model_that_is_gone_is_not_held():
    model = nn.Sequential(nn.Linear(2, 2))
    with torchsan.watch(on_finding="collect"):
        model(torch.randn(3, 2)).sum().backward()
        gone = weakref.ref(model)
        del model
        assert gone() is None
