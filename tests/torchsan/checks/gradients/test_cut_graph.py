"""119: the line that cuts a part of the model off is named."""

from __future__ import annotations

import pytest
import torch

DATA, DETACH = torch.Tensor.data, torch.Tensor.detach
PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)

    def features(self, x):
        x = torch.relu(self.body(x))
        return {cut}

    def forward(self, x):
        return self.head(self.features(x))


model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range({steps}):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    {log}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("cut", ["x.detach()  # <- 119", "x.data  # <- 119"])
@pytest.mark.parametrize("steps", [4, 30])
def test_the_cut_is_named(run, cut, steps):
    ran = run(PROGRAM.format(cut=cut, steps=steps, log="print(logits.detach().mean(), loss.data)"))
    assert ran.lines == ran.marked, ran.san.report()
    assert "cuts the graph" in ran.findings[0].message
    assert torch.Tensor.data is DATA and torch.Tensor.detach is DETACH


UNDER = """
import contextlib

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)

    {decorator}
    def features(self, x):
        return torch.relu(self.body(x))

    def forward(self, x):
        with {context}
            x = self.features(x)
        return self.head(x)


model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(6):
    loss = F.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model(torch.randn(8, 6))
"""
METHODS = [torch.no_grad.__enter__, torch.no_grad.__exit__, torch.set_grad_enabled.__enter__, torch.set_grad_enabled.__exit__]


@pytest.mark.parametrize(
    ("decorator", "context"),
    [
        ("", "torch.no_grad():  # <- 119"),
        ("", "torch.set_grad_enabled(False):  # <- 119"),
        ("@torch.no_grad()  # <- 119", "contextlib.nullcontext():"),
    ],
)
def test_the_context_without_a_graph_is_named(run, decorator, context):
    ran = run(UNDER.format(decorator=decorator, context=context))
    assert ran.lines == ran.marked, ran.san.report()
    assert "keeps no graph: what is called under it, such as `body.0.weight`" in ran.findings[0].message
    assert METHODS == [torch.no_grad.__enter__, torch.no_grad.__exit__, torch.set_grad_enabled.__enter__, torch.set_grad_enabled.__exit__]


def test_a_context_that_keeps_the_graph(run):
    assert run(UNDER.format(decorator="", context="torch.set_grad_enabled(True):")).codes == []


def test_another_reason(run):
    program = PROGRAM.format(cut="torch.relu(torch.zeros(8, 8))", steps=4, log="print(model.body(x).detach().mean())")
    ran = run(program)
    assert [finding.number for finding in ran.findings] == [119], ran.san.report()


def test_sound(run):
    assert run(PROGRAM.format(cut="x", steps=30, log="print(logits.detach().mean(), loss.data)")).codes == []


HEAD = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(self.body(x))


def finetune(model):
    model.{name} = nn.Linear(8, 10){mark}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        loss = F.cross_entropy(model(torch.randn(4, {width})), torch.randint(0, {width}, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


finetune({model})
"""


def test_a_head_that_nobody_calls(run):
    ran = run(HEAD.format(name="head", mark="  # <- 119", model="Net()", width=6))
    assert [(119 if number == 506 else number, row) for number, row in ran.lines] == list(ran.marked), ran.san.report()


def test_a_head_on_a_model_of_a_library(run):
    ran = run(HEAD.format(name="head", mark="  # <- 119", model="nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)", width=8))
    assert ran.lines == ran.marked, ran.san.report()


def test_a_head_in_the_place_of_the_old_one(run):
    assert run(HEAD.format(name="fc", mark="", model="Net()", width=6)).codes == []
