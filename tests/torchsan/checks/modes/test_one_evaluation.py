"""204: dropout that is on in the only evaluation that a program makes."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(6, 16), nn.Linear(16, 3)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        x = {dropout}
        return self.head(x)


model = Net()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    print(model(torch.randn(8, 6)).argmax(1))
"""


@pytest.mark.parametrize("dropout", ["F.dropout(x, p=0.5)  # <- 204", "torch.dropout(x, 0.5, True)  # <- 204"])
def test_found(run, dropout):
    ran = run(PROGRAM.format(dropout=dropout))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("dropout", ["F.dropout(x, p=0.5, training=self.training)", "F.dropout(x, p=0.0)", "x + torch.rand_like(x)"])
def test_sound(run, dropout):
    assert run(PROGRAM.format(dropout=dropout)).codes == []
