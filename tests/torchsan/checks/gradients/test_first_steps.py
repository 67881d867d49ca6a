"""120, 129: a training that diverges within its first steps, and rough starts that are none."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x)


def train(lr, steps=14):
    model = Net()
    optimizer = torch.optim.{optimizer}(model.parameters(), lr=lr)
    for _ in range(steps):
        x = torch.randn(32, 10)
        out = model(x)
        loss = {loss}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


train({lr})
"""
CLASSES = "F.cross_entropy(out, (x.sum(1) > 0).long())"
NUMBERS = "F.mse_loss(out[:, 0], x.sum(1))"


def program(optimizer, lr, loss):
    return PROGRAM.format(optimizer=optimizer, lr=lr, loss=loss)


@pytest.mark.parametrize(
    ("optimizer", "lr", "loss", "number"),
    [("Adam", 10, CLASSES, 120), ("Adam", 1, NUMBERS, 120), ("Adam", 1, CLASSES, 129), ("SGD", 100, CLASSES, 129)],
)
def test_a_rate_far_too_high(run, optimizer, lr, loss, number):
    ran = run(program(optimizer, lr, loss))
    assert [finding.number for finding in ran.findings] == [number], ran.san.report()
    assert ran.findings[0].step < 8


@pytest.mark.parametrize(
    ("optimizer", "lr", "loss"),
    [("SGD", 1, CLASSES), ("SGD", 10, CLASSES), ("Adam", 0.1, CLASSES), ("SGD", 0.1, NUMBERS), ("Adam", 0.1, NUMBERS)],
)
def test_a_rough_start(run, optimizer, lr, loss):
    assert run(program(optimizer, lr, loss)).codes == []


REWARDS = """
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.zeros_(critic[-1].weight)
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)
for step in range(20):
    rewards = torch.randn(16, 1) * (1e-3 if step < 2 else 10.0)
    loss = nn.functional.mse_loss(critic(torch.randn(16, 4)), rewards)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_rewards_that_come_after_some_steps(run):
    assert run(REWARDS).codes == []


WORDS = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Embedding(40, 16), nn.LayerNorm(16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 40))
optimizer = torch.optim.AdamW(model.parameters(), lr={lr})
for _ in range(120):
    x = torch.randint(0, 40, (32,))
    loss = F.cross_entropy(model(x), (x * 7 + 3) % 40)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # <- 129
"""


@pytest.mark.parametrize("lr", [3.0, 2.0])
def test_a_loss_that_never_comes_back(run, lr):
    ran = run(WORDS.format(lr=lr))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("lr", [0.1, 0.01])
def test_a_loss_that_comes_back(run, lr):
    assert run(WORDS.format(lr=lr)).codes == []
