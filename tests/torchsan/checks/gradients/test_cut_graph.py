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
OFF = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)

{features}

    def forward(self, x):
        return self.head(self.features(x))


model = Net()
body = nn.Linear(6, 6)
optimizer = torch.optim.Adam([*model.parameters(), *body.parameters()])
for _ in range({steps}):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    {before}
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model(x)
hooks = [hook for layer in [*model.modules(), body] for hook in layer._forward_pre_hooks.values()]
assert not any("CutGraph" in str(hook) for hook in hooks)
"""
FEATURES = {
    "a with": "    def features(self, x):\n        with torch.no_grad():  # <- 119\n            return self.body(x)",
    "with another": (
        "    def features(self, x):\n        with torch.autocast('cpu', enabled=False), torch.no_grad():  # <- 119\n"
        "            return torch.relu(\n                self.body(x)\n            )"
    ),
    "a decorator": "    @torch.no_grad()  # <- 119\n    def features(self, x):\n        return self.body(x)",
    "a setting": "    def features(self, x):\n        with torch.set_grad_enabled(False):  # <- 119\n            return self.body(x)",
}
BODY = "x = x + body(x)"


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
@pytest.mark.parametrize("steps", [4, 30])
def test_what_keeps_autograd_off_is_named(run, features, steps):
    ran = run(OFF.format(features=features, steps=steps, before=BODY))
    assert ran.lines == ran.marked, ran.san.report()
    assert "keeps autograd off where `body.0.weight` is used" in ran.findings[0].message
    assert ran.error is None


def test_a_model_that_runs_without_a_graph(run):
    features = "    def features(self, x):\n        return self.body(x)"
    before = "with torch.no_grad():  # <- 119\n        x = x + body(x)"
    ran = run(OFF.format(features=features, steps=4, before=before))
    assert ran.lines == ran.marked, ran.san.report()


def test_an_evaluation_is_no_cause(run):
    """The parameters have no gradient for another reason."""
    program = OFF.format(features="    def features(self, x):\n        return (self.body(x) > 0).float()", steps=4, before=BODY)
    ran = run(program)
    assert [finding.number for finding in ran.findings] == [119], ran.san.report()
    assert "autograd off" not in ran.findings[0].message


def test_a_context_that_keeps_the_graph(run):
    features = "    def features(self, x):\n        with torch.set_grad_enabled(True):\n            return self.body(x)"
    assert run(OFF.format(features=features, steps=4, before=BODY)).codes == []


UNUSED = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 8)
        self.value = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.relu(self.body(x))
        return self.head(x), self.value(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(24):
    scores, value = model(torch.randn(4, 6))
    loss = F.cross_entropy(scores, torch.randint(0, 3, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # <- 119
"""


def test_the_line_that_builds_the_layer_is_named(run):
    ran = run(UNUSED)
    assert ran.lines == ran.marked, ran.san.report()
    assert [(one.location.row, one.message) for one in ran.findings[0].related] == [(11, "it is built here")]
