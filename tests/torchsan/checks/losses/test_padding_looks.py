"""315 does not walk through a model without such a vocabulary at every loss; one that comes later is still found."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

import torchsan
from torchsan.checks.losses import padding


def test_a_model_without_a_vocabulary_is_walked_through_once_in_a_while(monkeypatch):
    walks, whole = [], padding.parts_of
    monkeypatch.setattr(padding, "parts_of", lambda root: (walks.append(root), whole(root))[1])
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torchsan.watch(model, on_finding="collect", level="thorough"):
        for _ in range(40):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
            optimizer.step()
    assert len(walks) == 1


def test_a_model_with_a_vocabulary_that_comes_later_is_seen():
    torch.manual_seed(0)
    plain = nn.Linear(4, 9)
    with torchsan.watch(plain, on_finding="collect") as san:
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.01)
        for _ in range(3):
            optimizer.zero_grad()
            F.cross_entropy(plain(torch.randn(8, 4)), torch.randint(0, 9, (8,))).backward()
            optimizer.step()
        words = nn.Sequential(nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9))
        optimizer = torch.optim.SGD(words.parameters(), lr=0.01)
        ids = torch.zeros(2, 8, dtype=torch.int64)
        ids[:, :2] = 3
        for _ in range(6):
            optimizer.zero_grad()
            F.cross_entropy(words(ids).transpose(1, 2), ids).backward()
            optimizer.step()
    assert "TS315" in [finding.code for finding in san.findings], san.report()
