"""313: scores that ReLU cuts, in front of the loss functions that want them of either sign."""

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
