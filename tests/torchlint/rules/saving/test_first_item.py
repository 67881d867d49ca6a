"""941: `loss.data[0]` is refused since torch 1.0, the release that came after 0.4.1; 0.4.1 itself only warns."""

import pytest

from tests.torchlint.support import write
from torchlint import check

PROGRAM = """
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(loader):
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.data[0])
"""


@pytest.mark.parametrize(("requirement", "told"), [
    ("torch", True),
    ("torch>=0.4", True),
    ("torch==1.0", True),
    ("torch>=0.4,<1.0", False),
    ("torch==0.4.1", False),
])
def test_by_requirements(tmp_path, requirement, told):
    write(tmp_path, {"requirements.txt": requirement, "train.py": PROGRAM})
    found = [finding.message for finding in check(tmp_path, cache=False) if finding.code == "TL941"]
    assert bool(found) is told
    assert all("torch 1.0 has not" in message for message in found)
