"""201 and 203 where dropout is no layer of its own, and where a loss is computed of some of an output's rows."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.hidden, self.head = nn.Linear(6, 16), nn.Linear(16, 3)
        self.p, self.options = p, {{"p": p}}

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return self.head({dropout})


torch.manual_seed(0)
model = Net({p})
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(40, 6), torch.randint(0, 3, (40,))
trained, kept = torch.arange(40) < 20, torch.arange(40) >= 20
for _ in range(8):
    {before}
    optimizer.zero_grad()
    F.cross_entropy(model(x)[trained], y[trained]).backward()
    optimizer.step()
    {between}
    with torch.no_grad():
        scores = model(x)
        {scores}
        score = F.cross_entropy(scores, y[kept])
"""
USED = "F.dropout(x, self.p, training=self.training)"


def program(dropout=USED, p="", before="model.train()", between="pass", scores="scores = scores[kept]"):
    return PROGRAM.format(dropout=dropout, p=p, before=before, between=between, scores=scores)


@pytest.mark.parametrize(
    "dropout", [USED, "F.dropout(x, training=self.training)", "F.dropout(x, 0.2, self.training)", "F.alpha_dropout(x, self.p, self.training)"]
)
def test_missing_eval(run, dropout):
    ran = run(program(dropout))
    assert [(f.number, f.location.row) for f in ran.findings] == [(201, 30)], ran.san.report()
    assert "in training mode: Net" in ran.findings[0].message


def test_missing_train(run):
    ran = run(program(before="pass", between="model.eval()"))
    assert ran.codes == ["TS203"], ran.san.report()


@pytest.mark.parametrize(
    "parts",
    [
        {"between": "model.eval()"},
        {"p": "0.0"},  # it drops nothing
        {"dropout": "x + 0 * F.softmax(x, dim=1)"},
        {"dropout": "F.dropout(x, self.options['p'], training=self.training)"},  # not known
        {"scores": "scores = torch.randn(20, 3)"},  # of something else
        {"scores": "scores = torch.zeros(20, 3)"},
    ],
)
def test_sound(run, parts):
    assert run(program(**parts)).codes == []
