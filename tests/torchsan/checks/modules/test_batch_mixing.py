"""524: a model whose samples mix; seen at level="thorough" alone, and without a trace."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.drop, self.out = nn.GRU(8, 8), nn.Dropout(0.2), nn.Linear(8, 2)

    def forward(self, x):
        EXTRA
        states, _ = self.rnn(x.LAYOUT)
        return self.out(self.drop(states[-1]))


torch.manual_seed(0)
seen, model = [], Steps()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(18, 4, 8), torch.randint(0, 2, (18,))), batch_size=6):
    scores = model(x)
    optimizer.zero_grad()
    nn.functional.cross_entropy(scores, y).backward()
    optimizer.step()
"""
ROW = PROGRAM[: PROGRAM.index("scores = model(x)")].count("\n") + 1
MIXED, APART = "view(4, 6, 8)", "transpose(0, 1)"


@pytest.mark.parametrize(
    ("layout", "extra", "level", "found"),
    [
        (MIXED, "pass", "thorough", True),
        (MIXED, "pass", "default", False),
        (APART, "pass", "thorough", False),
        (MIXED, "seen.append(len(x))", "thorough", False),  # code that does more than compute is not run again
    ],
)
def test_mixed_samples(run, layout, extra, level, found):
    ran = run(PROGRAM.replace("LAYOUT", layout).replace("EXTRA", extra), level=level)
    assert ran.error is None
    assert [(f.number, f.location.row) for f in ran.findings] == ([(524, ROW)] if found else []), ran.san.report()
    if found:
        assert "sample 0 of 6 was replaced" in ran.findings[0].message


SQUARE = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(WIDTH, 8), nn.Linear(8, 2)

    def forward(self, x):
        x = torch.tanh(self.hidden(x))
        return self.out(MIXED)


torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(torch.randn(32, WIDTH), torch.randint(0, 2, (32,))), batch_size=8):
    scores = model(x)
    optimizer.zero_grad()
    nn.functional.cross_entropy(scores, y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("mixed", "width", "found"), [
    ("x.t().contiguous().view(8, 8)", 5, True),  # as wide as the batch: every output depends on all samples
    ("x.t().contiguous().view(8, 8)", 8, True),
    ("(x - x.mean(0)) / (x.std(0) + 1e-5)", 5, False),  # a statistic over the batch
    ("torch.softmax(x @ x.t(), dim=-1) @ x", 5, False),
    ("x + torch.randn_like(x) - x.mean(0)", 5, False),
    ("x.view(len(x), -1)", 8, False),
])
def test_all_outputs_change(run, mixed, width, found):
    ran = run(SQUARE.replace("MIXED", mixed).replace("WIDTH", str(width)), level="thorough")
    assert [f.number for f in ran.findings if f.number == 524] == ([524] if found else []), ran.san.report()
    if found:
        assert "in another order of the samples" in next(f for f in ran.findings if f.number == 524).message


IN_ONE_GO = """
import torch
from torch import nn


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.LSTM(8, 8, bidirectional=True), nn.Linear(16, 3)

    def forward(self, x):
        first = torch.zeros(2, WIDTH, 8)
        states, _ = self.rnn(x.LAYOUT, (first, first))
        return self.out(states[-1])


torch.manual_seed(0)
model = Steps()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 5, 8), torch.randint(0, 3, (8,))
for _ in range(4):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()  # <- 524
    optimizer.step()
"""


@pytest.mark.parametrize(("layout", "width", "found"), [
    ("reshape(x.size(1), x.size(0), -1)", 8, True),
    ("transpose(0, 1)", 8, False),
    ("clone()", 5, False),  # 510
])
def test_all_samples_in_one_go(run, layout, width, found):
    ran = run(IN_ONE_GO.replace("LAYOUT", layout).replace("WIDTH", str(width)), level="thorough")
    assert {one for one in ran.lines if one[0] == 524} == (ran.marked if found else set()), ran.san.report()
