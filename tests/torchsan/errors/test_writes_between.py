"""115: weights that are written to between a forward and its backward, by something that has returned when the error comes."""

from __future__ import annotations

import pytest

PROGRAM = """
import copy

import torch
import torch.nn.functional as F
from torch import nn


def soft_update(target, source, tau=0.5):
    with torch.no_grad():
        for old, new in zip(target.parameters(), source.parameters()):
            old.mul_(1 - tau)  # soft


class Agent:
    def __init__(self):
        self.online = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.target = copy.deepcopy(self.online)
        self.optimizer = torch.optim.Adam(self.online.parameters())

    @torch.no_grad()
    def sync(self):
        for old, new in zip(self.online.parameters(), self.target.parameters()):
            old.copy_(new)  # sync

    def learn(self, states, rewards):
        values = self.online(states).max(1).values
        loss = F.mse_loss(values, rewards)
        {between}  # direct
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


agent = Agent()
for _ in range(3):
    agent.learn(torch.randn(6, 4), torch.randn(6))
"""


BETWEEN = """
import torch
from torch import nn

actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(critic.parameters())
actions = actor(torch.randn(5, 3))
wanted = -critic(actions).mean()
(critic(actions.detach()) - 1).pow(2).mean().backward()
optimizer.step()
wanted.backward()
"""


@pytest.mark.parametrize(("between", "mark"), [
    ("self.online.load_state_dict(self.target.state_dict())", "# direct"),
    ("self.sync()", "# sync"),
    ("soft_update(self.online, self.target)", "# soft"),
])
def test_the_writer_is_named(run, between, mark):
    text = PROGRAM.format(between=between)
    ran = run(text)
    row = next(row for row, line in enumerate(text.splitlines(), 1) if line.endswith(mark))
    assert "modified by an inplace operation" in str(ran.error)
    assert [(one.number, one.location.row) for one in ran.findings] == [(115, row)], ran.san.report()
    note = "\n".join(getattr(ran.error, "__notes__", ()))
    assert f"{row}" in note and "in place" in note
    assert "after `backward()`; a network that only gives targets needs no graph" in note


def test_a_step_between_two_backwards_of_one_network_goes_behind_both(run):
    ran = run(BETWEEN)
    note = "\n".join(getattr(ran.error, "__notes__", ()))
    assert "call `backward()` of every loss that needs the old weights first" in note and "x += y" not in note


def test_a_target_network_that_is_synced_where_it_belongs(run):
    ran = run(PROGRAM.format(between="self.target.load_state_dict(self.online.state_dict())"))
    assert ran.error is None and ran.codes == []
