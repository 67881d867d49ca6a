"""422 where no backward comes: a loss function refuses the NaN that it was given."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        spread = {spread}  # <- 422
        return torch.sigmoid(self.head(spread))


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
try:
    for _ in range(3):
        loss = F.binary_cross_entropy({given}, torch.rand(8, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
except RuntimeError as error:
    assert "between 0 and 1" in str(error)
"""
GIVEN = "model(torch.randn(8, 6))"


@pytest.mark.parametrize("spread", ["torch.sqrt(self.body(x))", "torch.log(self.body(x))"])
def test_the_line_that_made_it(run, spread):
    ran = run(PROGRAM.format(spread=spread, given=GIVEN))
    assert (422, next(row for number, row in ran.marked)) in ran.lines, ran.san.report()


def test_values_that_are_finite_and_too_large(run):
    assert "TS422" not in run(PROGRAM.format(spread="self.body(x)", given=GIVEN + " * 3")).codes


def test_what_the_program_gives_itself(run):
    assert "TS422" not in run(PROGRAM.format(spread="self.body(x)", given=GIVEN + " * float('nan')")).codes


TWO_MODELS = """
import numpy
import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 4)

    def forward(self, x):
        return torch.log(self.body(x)) + torch.tensor(numpy.random.normal(size=4))  # <- 422


encoder, critic = Encoder(), nn.Sequential(nn.Linear(4, 3), nn.Sigmoid()).double()
optimizer = torch.optim.SGD([*encoder.parameters(), *critic.parameters()], lr=0.01)


def compared(scores, target):
    return F.binary_cross_entropy(scores, target)


try:
    for _ in range(3):
        target = torch.empty(8, 3).fill_(1.0).double()
        optimizer.zero_grad()
        code = encoder(torch.randn(8, 6))
        loss = {loss}
        loss.backward()
        optimizer.step()
except RuntimeError as error:
    assert "between 0 and 1" in str(error)
"""


@pytest.mark.parametrize("loss", ["0.5 * F.binary_cross_entropy(critic(code), target)", "compared(critic(code), target)"])
def test_a_model_before_the_last(run, loss):
    ran = run(TWO_MODELS.format(loss=loss))
    assert (422, next(row for number, row in ran.marked)) in ran.lines, ran.san.report()


POLICY = """
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, x):
        x = {body}  # <- 422
        return self.head(x)


def act(policy, state):
    scores = policy(state)
    chosen = {chosen}
    return chosen, scores


policy = Policy()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
for _ in range(3):
    action, scores = act(policy, torch.randn(8, 6))
    optimizer.zero_grad()
    scores.sum().backward()
    optimizer.step()
"""
CATEGORICAL = "torch.distributions.Categorical(logits=scores).sample()"


@pytest.mark.parametrize("chosen", [CATEGORICAL, "torch.multinomial(torch.softmax(scores, 1), 1)"])
def test_a_distribution_that_is_refused(run, chosen):
    ran = run(POLICY.format(body="torch.log(self.body(x))", chosen=chosen))
    assert isinstance(ran.error, (ValueError, RuntimeError))
    assert (422, next(row for number, row in ran.marked)) in ran.lines, ran.san.report()


@pytest.mark.parametrize("chosen", ["torch.multinomial(scores, 1)", "torch.distributions.Categorical(probs=scores).sample()"])
def test_a_distribution_that_is_refused_for_another_reason(run, chosen):
    ran = run(POLICY.format(body="self.body(x)", chosen=chosen))
    assert ran.error is not None
    assert "TS422" not in ran.codes
