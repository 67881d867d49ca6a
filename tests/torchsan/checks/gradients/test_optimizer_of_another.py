"""118 and 103: an optimizer that was given another model's parameters, or never steps; which model, which call."""

from __future__ import annotations

PAIR = """
import torch
from torch import nn


def train():
    actor, target = nn.Linear(4, 2), nn.Linear(4, 2)
    critic = nn.Linear(6, 1)
    critic_optimizer = torch.optim.Adam(critic.parameters())
    actor_optimizer = torch.optim.Adam({held}.parameters())
    for step in range(6):
        x = torch.randn(8, 4)
        with torch.no_grad():
            wanted = critic(torch.cat([x, target(x)], 1)) + 1
        loss = (critic(torch.cat([x, torch.randn(8, 2)], 1)) - wanted).square().mean()
        critic_optimizer.zero_grad()
        loss.backward()
        critic_optimizer.step()
        if step % 2:
            actor_loss = -critic(torch.cat([x, actor(x)], 1)).mean()
            actor_optimizer.zero_grad()
            actor_loss.backward()
            {step}


train()
"""


def test_the_optimizer_holds_the_target(run):
    ran = run(PAIR.format(held="target", step="actor_optimizer.step()"))
    found = [finding for finding in ran.findings if finding.number == 118]
    assert [finding.location.row for finding in found] == [23], ran.san.report()
    assert "`actor` is trained by no optimizer: `actor_optimizer` holds the parameters of `target`" in found[0].message


def test_it_holds_its_own(run):
    assert run(PAIR.format(held="actor", step="actor_optimizer.step()")).codes == []


NEVER = """
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    optimizer.zero_grad()
    error = model(torch.randn(8, 4)).square().mean()
    error.backward()  # <- 103
"""


def test_what_is_never_stepped_is_named_though_the_program_is_over(run):
    ran = run(NEVER)
    assert ran.lines == ran.marked, ran.san.report()
    assert "`error.backward()` but not the other half of a training step, so `Linear` never learns" in ran.findings[0].message
