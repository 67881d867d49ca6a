"""104 where batches come from no loader."""

from __future__ import annotations

import pytest

REMAINDER = """
import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--accumulate", type=int, default=4)
args = parser.parse_args([])


def batches(count):
    for _ in range(count):
        yield torch.randn(8, 5), torch.randint(0, 3, (8,))


def train(model, optimizer):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(batches(24)):
        loss = F.cross_entropy(model(x), y){divided}
        loss.backward(){mark}
        if (i + 1) % args.accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()


model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
train(model, torch.optim.{optimizer}(model.parameters(), lr=0.1))
"""

MICRO = """
import torch
import torch.nn.functional as F
from torch import nn

gradient_accumulation_steps = 4
data = torch.randint(0, 30, (400,))


def get_batch():
    starts = torch.randint(0, 380, (6,))
    return torch.stack([data[s:s + 8] for s in starts]), torch.stack([data[s + 1:s + 9] for s in starts])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(30, 16), nn.Linear(16, 30)

    def forward(self, ids, targets):
        logits = self.head(self.embedding(ids))
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


model = Model()
optimizer = torch.optim.AdamW(model.parameters())
X, Y = get_batch()
for step in range(6):
    for micro_step in range(gradient_accumulation_steps):
        logits, loss = model(X, Y)
        X, Y = get_batch()
        {scaled}
        loss.backward(){mark}
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
"""


def test_a_test_of_the_remainder(run):
    ran = run(REMAINDER.format(divided="", mark="  # <- 104", optimizer="SGD"))
    assert ran.lines == ran.marked, ran.san.report()


def test_a_loop_over_micro_batches(run):
    ran = run(MICRO.format(scaled="pass", mark="  # <- 104"))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("text", [
    REMAINDER.format(divided=" / args.accumulate", mark="", optimizer="SGD"),
    REMAINDER.format(divided="", mark="", optimizer="Adam"),
    MICRO.format(scaled="loss = loss / gradient_accumulation_steps", mark=""),
])
def test_sound(run, text):
    assert run(text).codes == []


TASKS = """
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(8):
    optimizer.zero_grad()
    for real in (1.0, 0.0):
        x = torch.randn(8, 5) + real
        F.binary_cross_entropy_with_logits(model(x), torch.full((8, 1), real)).backward()
    optimizer.step()
    if step % 4 == 0:
        print(step)
"""


def test_inputs_of_several_kinds(run):
    assert run(TASKS).codes == []
