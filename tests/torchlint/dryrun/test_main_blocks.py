"""A block at the end of a file that only calls a model is run whichever rules are asked for: the sizes come from there."""

import pytest

import torchlint

TRIAL = """
import torch


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 256, 3, padding=1)

    def forward(self, x):
        desc = self.conv(x)
        return desc.reshape(-1, 240, 320, 256)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, image):
        return self.inner(image)


if __name__ == "__main__":
    x = torch.randn(2, 1, 240, 320)
    model = Outer()
    print(model(x).shape)
"""


@pytest.mark.parametrize("select", ["TL408", "TL408,TL941", "TL408,TL9", "TL4", "correctness,suspicious", "ALL"])
def test_the_same_is_found_whichever_rules_are_asked_for(select):
    found = torchlint.check(text=TRIAL, select=select, isolated=True)
    assert [finding.code for finding in found].count("TL408") == 1
