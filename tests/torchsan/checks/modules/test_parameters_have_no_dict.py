"""523 asks parameters for attributes of their own without giving them a dictionary to look into."""

from __future__ import annotations

import gc

import torch
import torch.nn.functional as F
from torch import nn

import torchsan


def trained(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
            optimizer.step()
    return san


def test_a_watch_gives_parameters_no_dictionary():
    model = nn.Linear(4, 2)
    san = trained(model)
    assert not san.findings, san.report()
    assert dict not in map(type, gc.get_referents(*model.parameters()))


def test_a_flag_on_one_of_them_is_found():
    model = nn.Linear(4, 2)
    model.bias.require_grad = False
    assert [finding.code for finding in trained(model).findings] == ["TS523"]
