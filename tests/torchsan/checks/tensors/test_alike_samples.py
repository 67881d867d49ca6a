"""423: samples of a loader that are all the same, or each of one value."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self):
        self.pictures = torch.randint(0, 256, (40, 3, 12, 12), dtype=torch.uint8)
        self.labels = torch.randint(0, 3, (40,))

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return {picture}, self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv2d(3, 4, 3), nn.Linear(4, 3)

    def forward(self, x, *more):
        return self.out(F.relu(self.conv(x)).mean((2, 3)))


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for x, y in DataLoader(Pictures(), batch_size=8, shuffle=True):
        loss = F.cross_entropy(model({given}), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("picture", "words"), [
    ("self.pictures[0] / 255", "all 8 samples of each batch are the same"),
    ("torch.full((3, 12, 12), index / 40)", "each sample is of one value"),
    ("torch.stack([torch.full((12, 12), v) for v in (0.4, 0.5, 0.6)])", "all 8 samples"),
])
def test_found(run, picture, words):
    ran = run(PROGRAM.format(picture=picture, given="x"))
    assert [finding.number for finding in ran.findings] == [423], ran.san.report()
    assert words in ran.findings[0].message


@pytest.mark.parametrize(("picture", "given"), [
    ("self.pictures[index] / 255", "x"),
    ("self.pictures[index] / 255 if epoch else self.pictures[0] / 255 + index // 16", "x"),
    ("self.pictures[index] / 255", "torch.ones(8, 3, 12, 12).cumsum(2), x"),  # a grid beside the data
])
def test_sound(run, picture, given):
    assert "TS423" not in run(PROGRAM.format(picture=picture, given=given)).codes
