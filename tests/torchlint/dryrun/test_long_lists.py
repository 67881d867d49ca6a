"""Lists that line after line appends to are known by their places, however long they are, and whatever comes twice."""

import pytest

import torchlint


def network(layers):
    made = "\n        ".join(f"made.append({layer})" for layer in layers)
    return f"""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        relu = nn.ReLU()
        made = []
        {made}
        self.layers = nn.ModuleList(made)

    def forward(self, x):
        first = self.layers[0](x)
        return self.layers[{len(layers) - 1}](first)


print(Net()(torch.randn(2, 1, 28, 28)))
"""


def codes(text):
    return [finding.code for finding in torchlint.check(text=text, select="TL508", isolated=True)]


@pytest.mark.parametrize("between", [0, 3, 11, 12, 40, 80])
def test_the_first_and_the_last_are_who_they_are(between):
    middle = [f"nn.Conv2d({n + 100}, {n + 101}, 3)" for n in range(between)]
    assert codes(network(["nn.Conv2d(1, 16, 3)", *middle, "nn.Conv2d(16, 32, 3)"])) == []


@pytest.mark.parametrize("between", [0, 3, 11, 12, 40])
def test_what_does_not_fit_is_told(between):
    middle = [f"nn.Conv2d({n + 100}, {n + 101}, 3)" for n in range(between)]
    assert codes(network(["nn.Conv2d(1, 16, 3)", *middle, "nn.Conv2d(8, 32, 3)"])) == ["TL508"]


def test_one_that_comes_twice_keeps_its_places():
    assert codes(network(["nn.Conv2d(1, 16, 3)", "relu", "nn.Conv2d(99, 16, 3)", "relu", "nn.Conv2d(16, 32, 3)"])) == []
