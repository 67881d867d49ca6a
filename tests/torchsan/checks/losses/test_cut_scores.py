"""312, 313: scores that are normalised over the samples, or that ReLU cuts, in front of a loss."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(6, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    scores = {scores}
    loss = F.nll_loss({given}, torch.randint(0, 5, (8,)))  # <- 313
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("given", ["F.log_softmax(scores, dim=1)", "scores.softmax(1).log()"])
def test_relu_before_log_softmax(run, given):
    ran = run(PROGRAM.format(scores="F.relu(model(torch.randn(8, 6)))", given=given))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("scores", ["model(torch.randn(8, 6))", "F.relu(model(torch.randn(8, 6))) - 1"])
def test_scores_of_either_sign(run, scores):
    assert run(PROGRAM.format(scores=scores, given="F.log_softmax(scores, dim=1)")).codes == []


ROWS = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(6, 5)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rows, labels = torch.arange(6), torch.randint(0, 5, (9,))
for _ in range(3):
    output = F.log_softmax(model(torch.randn(9, 6)), dim={dim})
    loss = F.nll_loss(output{taken}, labels[rows])  # <- 312
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("taken", ["[rows]", "[:6]", ".index_select(0, rows)"])
def test_log_softmax_over_samples_of_which_some_are_taken(run, taken):
    ran = run(ROWS.format(dim=0, taken=taken))
    assert ran.lines == ran.marked, ran.san.report()
    assert run(ROWS.format(dim=1, taken=taken)).codes == []
