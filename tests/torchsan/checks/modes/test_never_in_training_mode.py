"""203: a model that is in evaluation mode from its first step on, and models that are so on purpose."""

from __future__ import annotations

import pytest

MODEL = """
import torch
import torch.nn.functional as F
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.dropout = nn.Dropout(0.2)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    @classmethod
    def from_pretrained(cls):
        return cls().eval()

    def forward(self, words):
        return self.head(self.norm(self.dropout(self.embedding(words))))


def batch():
    return torch.randint(0, 50, (8, 6)), torch.randint(0, 5, (8, 6))


def loss_of(model, words, tags):
    return F.cross_entropy(model(words).flatten(0, 1), tags.flatten())  # <- 203
"""

EVALUATED_FIRST = """

@torch.no_grad()
def estimate_loss(model):
    model.eval()
    return torch.stack([loss_of(model, *batch()) for _ in range(3)]).mean().item()


model = Tagger()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(12):
    if step % 6 == 0:
        print(estimate_loss(model))
    loss = loss_of(model, *batch())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

PRETRAINED = """
model = Tagger.from_pretrained()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for _ in range(8):
    optimizer.zero_grad()
    loss_of(model, *batch()).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("loop", [EVALUATED_FIRST, PRETRAINED], ids=["evaluated first", "from pretrained"])
def test_found(run, loop):
    ran = run(MODEL + loop)
    assert ran.lines == ran.marked, ran.san.report()
    assert "from its first step on" in ran.findings[0].message


def test_the_evaluation_is_named(run):
    finding = run(MODEL + EVALUATED_FIRST).findings[0]
    assert any("evaluated here" in one.message for one in finding.related)


def test_a_head_on_a_body_that_stays_as_it_is(run):
    program = PRETRAINED.replace("model.parameters()", "model.head.parameters()")
    assert run(MODEL + program).codes == []


def test_frozen_batch_norm(run):
    program = (MODEL + PRETRAINED).replace("nn.Dropout(0.2)", "nn.Identity()").replace("LayerNorm(16)", "BatchNorm1d(6)")
    assert run(program).codes == []


def test_two_steps_to_adapt_to_a_batch(run):
    assert run(MODEL + PRETRAINED.replace("range(8)", "range(2)")).codes == []
