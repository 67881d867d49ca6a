"""012: images with their channels last, and pixel values that a trained model does not know."""

from __future__ import annotations

import pytest

LAZY = """
import torch
from torch import nn

model = nn.Sequential(nn.LazyConv2d(8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
images, labels = torch.rand(4, 32, 32, 3), torch.randint(0, 4, (4,))
loss = nn.functional.cross_entropy(model(images), labels)  # <- 012
loss.backward()
"""
ERROR = """
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
model(torch.rand(4, 32, 32, 3)).sum().backward()  # <- 012
"""
TRAINED = """
import torch
from torch import nn

def normal():
    return torch.rand(8, 3, 16, 16)

def pixels():
    return torch.randint(0, 256, (8, 3, 16, 16)).float()

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
with torch.no_grad():
    for _ in range(80):
        model(BEFORE())
weights = model.state_dict()
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
model.load_state_dict(weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    scores = model(NOW())
    nn.functional.cross_entropy(scores, torch.randint(0, 4, (8,))).backward()
    optimizer.step()
"""


def of_12(ran):
    return {row for number, row in ran.lines if number == 12}


@pytest.mark.parametrize("program", [LAZY, ERROR])
def test_channels_last(run, program):
    ran = run(program)
    assert of_12(ran) == {row for _, row in ran.marked}


def test_channels_first(run):
    assert not of_12(run(LAZY.replace("model(images)", "model(images.permute(0, 3, 1, 2))")))


def test_the_error_says_how_to_bring_them_to_the_front(run):
    assert "`x.permute(0, 3, 1, 2)`" in run(ERROR).findings[0].help


@pytest.mark.parametrize(("before", "now", "found"), [("normal", "pixels", 1), ("pixels", "pixels", 0), ("normal", "normal", 0), ("pixels", "normal", 0)])
def test_pixels(run, before, now, found):
    ran = run(TRAINED.replace("BEFORE", before).replace("NOW", now))
    assert len(of_12(ran)) == found, ran.san.report()


def test_a_new_model_may_be_trained_on_pixels(run):
    assert not of_12(run(TRAINED.replace("model.load_state_dict(weights)", "pass").replace("BEFORE", "normal").replace("NOW", "pixels")))
