"""904: a state that is kept is called what it is; 106: the line that keeps graphs, where a framework runs the model."""

from __future__ import annotations

import pytest

ALIAS = """
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{name} = model.state_dict()  # <- 904
for _ in range(4):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
model.load_state_dict({name})
"""


@pytest.mark.parametrize(("name", "best"), [("ema_state", False), ("best_state", True)])
def test_words(run, name, best):
    ran = run(ALIAS.format(name=name))
    assert ran.lines == ran.marked, ran.san.report()
    assert ("not the best" in ran.findings[0].message) is best


FRAMEWORK = """
import torch
from torch import nn

FIT = '''
def fit(build, batches):
    model = build()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in batches:
        loss = model.training_step(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
'''
space = {"torch": torch}
exec(compile(FIT, torch.__file__, "exec"), space)  # as a library's, in whose frames nobody looks


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.losses = nn.Linear(3, 1), []

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch):
        loss = self(batch).pow(2).mean()
        self.losses.append(loss)  # <- 106
        return loss


space["fit"](Module, [torch.randn(4, 3) for _ in range(12)])
"""


def test_the_line_that_keeps_graphs(run):
    ran = run(FRAMEWORK)
    assert ran.lines == ran.marked, ran.san.report()
