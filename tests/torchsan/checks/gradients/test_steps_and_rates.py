"""103: two steps on one backward. 111: a rate that is gone after one pass. 127: a rate that is never there."""

from __future__ import annotations

import pytest

TWICE = """
import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
        self.optimizer = torch.optim.{kind}(self.model.parameters(), lr=0.01)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        {second}
        return loss.item()


trainer = Trainer()
for step in range(6):
    trainer.train_step(torch.randn(4, 6), torch.randint(0, 3, (4,)))
"""


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_second_step(run, kind):
    ran = run(TWICE.format(kind=kind, second="self.optimizer.step()  # <- 103"))
    assert ran.lines == ran.marked, ran.san.report()
    assert [one.message for one in ran.findings[0].related][0] == "the first step"


@pytest.mark.parametrize(
    "second",
    [
        "F.cross_entropy(self.model(x), y).backward(); self.optimizer.step()",  # of new gradients, and not cleared
        "[p.grad.copy_(torch.randn_like(p)) for p in self.model.parameters()]; self.optimizer.step()",
        "[p.grad.data.copy_(torch.randn_like(p)) for p in self.model.parameters()]; self.optimizer.step()",
        "self.optimizer.step() if step == 2 else None",
    ],
)
def test_a_second_step_that_is_another_one(run, second):
    assert "TS103" not in run(TWICE.format(kind="SGD", second=second)).codes


def test_a_wrapper_that_steps_what_it_wraps(run):
    program = TWICE.format(kind="SGD", second="pass").replace("class Trainer:", """
class Lookahead(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        super().__init__([p for group in inner.param_groups for p in group["params"]], {})

    def step(self, closure=None):
        return self.inner.step(closure)


class Trainer:""").replace("lr=0.01)", "lr=0.01); self.optimizer = Lookahead(self.optimizer)")
    assert run(program).codes == []


RATE = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(96, 6), torch.randint(0, 3, (96,))), batch_size=4, shuffle=True)
model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.{schedule}
for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step(){mark}
"""


@pytest.mark.parametrize("schedule", [
    "StepLR(optimizer, step_size=5, gamma=0.1)", "ExponentialLR(optimizer, gamma=0.6)",
    "MultiStepLR(optimizer, [5, 10, 15])", "LambdaLR(optimizer, lambda n: max(0.0, 1 - n / 24))",
])
def test_the_rate_is_gone(run, schedule):
    ran = run(RATE.format(schedule=schedule, mark="  # <- 111"))
    assert {pair for pair in ran.lines if pair[0] == 111} == ran.marked, ran.san.report()


@pytest.mark.parametrize("schedule", [
    "StepLR(optimizer, step_size=24, gamma=0.1)", "CosineAnnealingWarmRestarts(optimizer, T_0=24)",
    "CyclicLR(optimizer, 1e-5, 0.1, step_size_up=12)", "CosineAnnealingLR(optimizer, T_max=24 * 3)",
    "LambdaLR(optimizer, lambda n: max(0.0, 1 - n / 72))", "CosineAnnealingLR(optimizer, T_max=24)",
])
def test_the_rate_goes_on(run, schedule):
    assert "TS111" not in run(RATE.format(schedule=schedule, mark="")).codes


def test_one_pass_ends_at_zero(run):
    text = RATE.format(schedule="LambdaLR(optimizer, lambda n: 1 - n / 24)", mark="").replace("range(3)", "range(1)")
    assert run(text).codes == []


AT_ZERO = """
import torch
from torch import nn

model = nn.Linear(6, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)  # <- 127
scheduler = torch.optim.lr_scheduler.{schedule}
for epoch in range(2):
    for step in range(6):
        optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()
    scheduler.step()
"""


@pytest.mark.parametrize("schedule", ["StepLR(optimizer, 1, 0.7)", "LambdaLR(optimizer, lambda epoch: epoch + 1)"])
def test_a_schedule_that_multiplies_zero(run, schedule):
    ran = run(AT_ZERO.format(schedule=schedule))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("schedule", ["CyclicLR(optimizer, 0.0, 0.1)", "LambdaLR(optimizer, float)"])
def test_a_schedule_that_begins_at_zero(run, schedule):
    made = AT_ZERO.format(schedule=schedule).replace("lr=0.0)", "lr=0.1)")
    assert "TS127" not in run(made).codes


WITHOUT_LOADER = """
import torch
import torch.nn.functional as F
from torch import nn

rows, labels = torch.randn(96, 6), torch.randint(0, 3, (96,))
model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.{schedule}
for epoch in range(20):
    for at in range(0, 96, 8):
        optimizer.zero_grad()
        F.cross_entropy(model(rows[at:at + 8]), labels[at:at + 8]).backward()
        optimizer.step()
        scheduler.step()  # <- 111
"""


@pytest.mark.parametrize("schedule", ["StepLR(optimizer, 8, gamma=0.1)", "ExponentialLR(optimizer, gamma=0.8)"])
def test_the_rate_is_gone_and_nothing_tells_of_passes(run, schedule):
    ran = run(WITHOUT_LOADER.format(schedule=schedule))
    assert ran.marked <= ran.lines and ran.codes in (["TS111"], ["TS111", "TS127"]), ran.san.report()
    assert any("comes with every step" in found.message for found in ran.findings)
    assert all("learning rate" in found.message and "float32 and use" not in found.help for found in ran.findings)


@pytest.mark.parametrize(
    "schedule",
    [
        "ExponentialLR(optimizer, gamma=0.93)",  # a thirty-millionth, at the very end
        "CosineAnnealingLR(optimizer, 60)",
        "CosineAnnealingWarmRestarts(optimizer, 30)",
        "LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 100))",  # ends at zero
    ],
)
def test_the_rate_goes_on_and_nothing_tells_of_passes(run, schedule):
    assert "TS111" not in run(WITHOUT_LOADER.format(schedule=schedule)).codes
