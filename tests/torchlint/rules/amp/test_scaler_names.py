"""A GradScaler is one by each of its names: `torch.GradScaler`, too."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found, marked

STEP = """
from {home} import GradScaler


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        {update}
"""


@pytest.mark.parametrize("home", ["torch", "torch.amp", "torch.amp.grad_scaler"])
def test_a_step_through_it_is_a_step(home):
    sound = IMPORTS + STEP.format(home=home, update="scaler.update()")
    assert found(sound) == []
    left = sound.replace("scaler.step(optimizer)", "scaler.step(optimizer)  # <- 704").replace("scaler.update()", "pass")
    assert found(left) == marked(left)
