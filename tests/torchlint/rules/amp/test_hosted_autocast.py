"""The autocast of Accelerate and Fabric is one: a backward inside it is told (701), whoever sends it."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found, marked

STEP = """
from {home} import {host}


def train(model, loader):
    driver = {host}()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {prepared}
    for x, y in loader:
        optimizer.zero_grad()
        with {opened}:
            loss = F.cross_entropy(model(x), y)
{backward}
        optimizer.step()
"""
ACCELERATE = {
    "home": "accelerate", "host": "Accelerator",
    "prepared": "model, optimizer, loader = driver.prepare(model, optimizer, loader)",
}
FABRIC = {
    "home": "lightning.fabric", "host": "Fabric",
    "prepared": "model, optimizer = driver.setup(model, optimizer); loader = driver.setup_dataloaders(loader)",
}
INSIDE, BEHIND = "            driver.backward(loss)", "        driver.backward(loss)"


@pytest.mark.parametrize("host", [ACCELERATE, FABRIC], ids=["accelerate", "fabric"])
@pytest.mark.parametrize("opened", ["driver.autocast()", 'torch.autocast("cuda")'])
def test_a_backward_inside_is_told_and_one_behind_is_not(host, opened):
    text = IMPORTS + STEP.format(**host, opened=opened, backward=INSIDE + "  # <- 701")
    assert found(text) == marked(text)
    assert found(IMPORTS + STEP.format(**host, opened=opened, backward=BEHIND)) == []


@pytest.mark.parametrize("opened", ["driver.no_sync(model)", "driver.accumulate(model)", "driver.autocast(autocast_handler=handler)"])
def test_other_contexts_and_a_handler_that_may_switch_it_off(opened):
    text = STEP.format(**ACCELERATE, opened=opened, backward=INSIDE).replace("(model, loader):", "(model, loader, handler):")
    assert 701 not in {code for _, code in found(IMPORTS + text)}
