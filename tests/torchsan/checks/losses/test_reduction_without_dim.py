"""321: one number of a whole batch of scores, where somebody asks for this rule."""

from __future__ import annotations

import pytest
import torch

FUNCTIONS = [torch.argmax, torch.argmin, torch.Tensor.argmax, torch.Tensor.argmin]
PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(4, 3)
loader = DataLoader(TensorDataset(torch.randn({rows}, 4), torch.randint(0, 3, ({rows},))), batch_size={size})
model.eval()
right = 0
with torch.no_grad():
    for x, y in loader:
        scores = model(x){after}
        right += ({place} == y).sum().item()  # <- 321
"""


def ran(run, place, rows=24, size=8, after="", **options):
    return run(PROGRAM.format(place=place, rows=rows, size=size, after=after), **options or {"select": ["TS321"]})


@pytest.mark.parametrize("after", ["", ".softmax(1)"])
@pytest.mark.parametrize("place", ["scores.argmax()", "torch.argmax(scores)", "torch.argmax(scores, None)", "scores.argmin()"])
def test_of_the_whole_batch(run, place, after):
    done = ran(run, place, after=after)
    if place == "torch.argmax(scores, None)":
        assert not done.lines  # said in so many words
    else:
        assert done.lines == done.marked, done.san.report()
        assert "8 rows of 3: a number from 0 to 23" in done.findings[0].message
    assert FUNCTIONS == [torch.argmax, torch.argmin, torch.Tensor.argmax, torch.Tensor.argmin]


@pytest.mark.parametrize(
    ("place", "size"),
    [("scores.argmax(1)", 8), ("scores.argmax(dim=1)", 8), ("torch.argmax(scores, 1)", 8), ("scores[0].argmax()", 8), ("scores.argmax()", 1)],
)
def test_sound(run, place, size):
    assert not ran(run, place, size=size).findings


def test_one_batch_alone_may_be_meant(run):
    assert not ran(run, "scores.argmax()", rows=8).findings


def test_it_is_asked_for(run):
    assert not ran(run, "scores.argmax()", level="default").findings
