"""941: `loss.data[0]` is refused since torch 1.0, the release that came after 0.4.1; 0.4.1 itself only warns."""

import pytest

from tests.torchlint.dryrun.support import holds, table
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


ADDED_UP = """
def {name}(model, loader, optimizer):
    total = 0
    for i, (x, y) in enumerate(loader):
        loss = {loss}
        {step}
        total += {added}
        if i % 10 == 9:
            print(total[0] / 10){mark}
            total = {start}
"""
_STEP = "optimizer.zero_grad(); loss.backward(); optimizer.step()"


def added_up(added, mark="  # <- 941", loss="F.mse_loss(model(x), y)", step=_STEP, start="0", name="train"):
    return ADDED_UP.format(added=added, mark=mark, loss=loss, step=step, start=start, name=name)


@table({
    "as they are": added_up("loss.data"),
    "a mean with the sign turned": added_up("loss.data", loss="-torch.mean(torch.log(model(x)))"),
    "by the number of samples": added_up("loss.data * len(x)"),
    "where nothing is trained": added_up("len(x) * loss.data", step="pass", name="tell"),
    "two losses": added_up("loss.data", loss="F.mse_loss(model(x), y) + 0.1 * F.l1_loss(model(x), y)"),
    "a loss for each": added_up("loss.data", mark="", loss="F.mse_loss(model(x), y, reduction='none')", step="pass"),
    "weighted": added_up("loss.data * y", mark=""),
    "begun as a list": added_up("loss.data", mark="", start="[0]").replace("total = 0", "total = torch.zeros(1)"),
})
def test_what_is_added_up(code):
    holds(code)
