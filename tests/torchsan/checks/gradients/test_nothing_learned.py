"""140, 319: why nothing is learned, and trainings that begin with zeros and are right."""

from __future__ import annotations

import pytest

TRAINER = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, outputs={outputs}):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.head = nn.Linear(16, outputs)

    def forward(self, x):
        return {output}


class Trainer:
    def __init__(self):
        self.model = Net()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def loss(self, x, y):
        scores = self.model(x)
        return {loss}

    def fit(self, steps={steps}):
        for _ in range(steps):
            x = torch.randn(16, 8)
            loss = self.loss(x, (x.sum(1) > 0).long())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()


Trainer().fit()
"""


def program(output="self.head(self.body(x))", loss="F.cross_entropy(scores, y)", outputs=2, steps=12):
    return TRAINER.format(output=output, loss=loss, outputs=outputs, steps=steps)


@pytest.mark.parametrize(
    ("parts", "number", "words"),
    [
        ({"loss": "F.cross_entropy(scores, y) * 0", "steps": 140}, 140, "multiplied by the number 0"),
        ({"loss": "(scores.sign()[:, 0] - y).pow(2).mean()"}, 140, "`sign` lets no"),
        ({"outputs": 1, "loss": "F.nll_loss(F.log_softmax(scores, dim=1), y * 0)"}, 319, "dimension 1 has one class"),
        (
            {"outputs": 1, "output": "torch.softmax(self.head(self.body(x)), dim=-1)",
             "loss": "F.binary_cross_entropy(scores.squeeze(1) * 0.9, y.float())"},
            319, "softmax over dimension -1 of (16, 1)",
        ),
        ({"output": "torch.softmax(self.head(self.body(x)), dim=1)", "loss": "scores.mean()"}, 140, "whatever the batch"),
    ],
)
def test_found_with_its_reason(run, parts, number, words):
    ran = run(program(**parts))
    assert [finding.number for finding in ran.findings] == [number], ran.san.report()
    assert words in ran.findings[0].message


@pytest.mark.parametrize("level", ["default", "thorough"])
def test_what_may_be_the_data_is_waited_for(run, level):
    parts = {"output": "self.head(self.body(x)) - 9", "loss": "F.relu(scores).mean()"}
    assert run(program(**parts), level=level).codes == []
    ran = run(program(**parts, steps=200), level=level)
    assert "TS140" in ran.codes or "TS516" in ran.codes, ran.san.report()


REINFORCE = """
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters())
for episode in range(60):
    states = torch.randn(10, 4)
    chosen = torch.distributions.Categorical(logits=policy(states))
    actions = chosen.sample()
    reward = 1.0 if episode > 20 else 0.0
    loss = -(chosen.log_prob(actions) * reward).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_rewards_that_come_late(run):
    assert run(REINFORCE).codes == []


def test_the_same_batch_again_and_again(run):
    text = program(loss="F.cross_entropy(scores * 1e-9, y)").replace("torch.randn(16, 8)", "torch.ones(16, 8)")
    assert "TS140" not in run(text).codes


def test_it_goes_on_after_a_second_optimizer_came(run):
    text = program() + """
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    loss = model(torch.randn(16, 8)).round().mean()
    optimizer.zero_grad()
    loss.backward()  # <- 140
    optimizer.step()
"""
    ran = run(text)
    assert ran.lines == ran.marked, ran.san.report()


SOFTMAX_INSIDE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        return torch.softmax(self.out(x), dim=1)  # the softmax


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    loss = (model(torch.randn(16, 6)) - torch.rand(16, 1)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # <- 319
    optimizer.step()
"""


def test_the_line_of_a_softmax_over_one_value_is_named(run):
    ran = run(SOFTMAX_INSIDE)
    assert ran.lines == ran.marked
    row = 1 + SOFTMAX_INSIDE.split("# the softmax")[0].count("\n")
    assert [(one.location.row, one.message) for one in ran.findings[0].related][0] == (row, "the softmax over a single value")
