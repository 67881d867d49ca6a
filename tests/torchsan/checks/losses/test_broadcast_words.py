"""309: what is said fits the shapes that met."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.{layer}
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    prediction = model(torch.randn({given}))
    loss = F.{loss}(prediction, torch.rand({target}))  # <- 309
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("layer", "given", "target", "loss", "words"), [
    ("Conv2d(1, 1, 3, padding=1)", "8, 1, 6, 6", "8, 6, 6", "mse_loss", "`.unsqueeze(1)` for the target"),
    ("Linear(4, 3)", "8, 1, 4", "1, 8, 3", "l1_loss", "look at the layer or the loader"),
])
def test_other_shapes(run, layer, given, target, loss, words):
    ran = run(PROGRAM.format(layer=layer, given=given, target=target, loss=loss))
    assert ran.lines == ran.marked, ran.san.report()
    assert "(N, 1)" not in ran.findings[0].message and "shapes" in ran.findings[0].message
    assert words in ran.findings[0].help


def test_column_against_row(run):
    ran = run(PROGRAM.format(layer="Linear(4, 1)", given="8, 4", target="8", loss="mse_loss"))
    assert "(N, 1) against (N,)" in ran.findings[0].message


def test_targets_that_are_a_square_already(run):
    text = PROGRAM.format(layer="Linear(4, 1)", given="8, 4", target="8, 8", loss="mse_loss")
    ran = run(text.replace("model(torch.randn(8, 4))", "model(torch.randn(8, 4)).squeeze(1)"))
    assert ran.lines == ran.marked, ran.san.report()
    assert "shapes" in ran.findings[0].message and "(8,) against (8, 8)" in ran.findings[0].message


def test_one_row_for_a_batch(run):
    text = PROGRAM.format(layer="Linear(4, 1)", given="8, 4", target="8, 4", loss="mse_loss")
    assert "TS309" not in run(text.replace("model(torch.randn(8, 4))", "model.weight[0]")).codes
