"""109: before torch 1.1 the schedule was to step first."""

import pytest

from tests.torchlint.support import write
from torchlint import check

PROGRAM = """
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)


def train(loader):
    for epoch in range(90):
        scheduler.step()
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("requirement", "told"), [
    ("", True), ("torch", True), ("torch>=0.4", True), ("torch==1.1", True), ("torch==0.4.1", False), ("torch<1.1", False),
])
def test_by_requirements(tmp_path, requirement, told):
    write(tmp_path, {"requirements.txt": requirement, "train.py": PROGRAM})
    assert any(finding.code == "TL109" for finding in check(tmp_path, cache=False)) is told
