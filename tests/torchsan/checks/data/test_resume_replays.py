"""620: the batches that come after a state was loaded."""

import pytest

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

dataset = TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
saved = None
for attempt in range(2):  # the job is stopped once, and goes on
    torch.manual_seed(0)
    loader = DataLoader(dataset, batch_size=8, shuffle=True)
    if saved is not None:
        model.load_state_dict(saved)
    for step, (x, y) in enumerate(loader):  # <- 620
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if attempt == 0 and step == 4:
            saved = {name: value.clone() for name, value in model.state_dict().items()}
            break
"""
SOUND = {
    "another order": ("torch.manual_seed(0)", "torch.manual_seed(attempt)"),
    "no order is drawn": ("shuffle=True", "shuffle=False"),
    "the pass was at its end": ("step == 4", "step == 99"),
    "nothing is loaded": ("model.load_state_dict(saved)", "pass"),
}


def test_the_same_batches_again(run):
    ran = run(PROGRAM)
    assert {mark for mark in ran.lines if mark[0] == 620} == ran.marked, ran.san.report()


@pytest.mark.parametrize("old, new", SOUND.values(), ids=list(SOUND))
def test_when_they_are_others(run, old, new):
    assert old in PROGRAM
    ran = run(PROGRAM.replace(old, new))
    assert ran.error is None
    assert "TS620" not in ran.codes, ran.san.report()
