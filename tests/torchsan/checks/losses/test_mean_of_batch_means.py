"""316: the mean of batch means, where the last batch is smaller: read in the loop, measured in the run."""

from __future__ import annotations

import pytest

PROGRAM = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss({criterion})
loader = DataLoader(TensorDataset(torch.randn({count}, 4), torch.randint(0, 3, ({count},))), batch_size=16)


def evaluate(loader):
    model.eval()
    total, batches, seen = 0.0, 0, []
    with torch.no_grad():
        for {names} in {over}:
            loss = criterion(model(x), y)
            {add}
            batches += 1
    {end}


evaluate(loader)
"""
ADD, END = "total += loss.item()  # <- 316", "return total / len(loader)"
LIST = "seen.append(loss.item())  # <- 316"


def program(add=ADD, end=END, criterion="", count=38, names="x, y", over="loader"):
    return PROGRAM.format(add=add, end=end, criterion=criterion, count=count, names=names, over=over)


@pytest.mark.parametrize("parts", [
    {},
    {"names": "at, (x, y)", "over": "enumerate(loader)"},
    {"add": "total += float(loss)  # <- 316", "end": "total /= len(loader)"},
    {"add": "total += criterion(model(x), y).item()  # <- 316"},
    {"end": "return {'loss': total / batches}"},
    {"end": "count = len(loader); total /= count; return total"},
    {"add": LIST, "end": "return sum(seen) / len(seen)"},
    {"add": LIST, "end": "return np.mean(seen)"},
    {"add": "seen.append(loss)  # <- 316", "end": "return torch.stack(seen).mean().item()"},
    {"add": LIST, "end": "return torch.tensor(seen).mean()"},
])
def test_found(run, parts):
    ran = run(program(**parts), select=("TS316",))
    assert ran.lines == ran.marked, ran.san.report()
    assert "batches of 16, the last of 6" in ran.findings[0].message


@pytest.mark.parametrize("parts", [
    {"count": 48},  # no smaller batch
    {"add": "total += loss.item() * len(x)", "end": "return total / len(loader.dataset)"},
    {"add": "total += loss.item() * len(x)", "end": "return total / len(loader)"},  # wrong, and not this
    {"criterion": "reduction='sum'"},
    {"criterion": "weight=torch.tensor([1.0, 2.0, 3.0])"},
    {"criterion": "ignore_index=0"},
    {"end": "return total"},
    {"add": "total += loss.item() / len(loader)", "end": "return total"},  # not followed
    {"add": "seen.append(loss.item())", "end": "return np.median(seen), seen"},
    {"add": "seen.append(loss.item() * len(x))", "end": "return np.mean(seen)"},
    {"over": "[next(iter(loader))]"},
])
def test_sound(run, parts):
    assert run(program(**parts), select=("TS316",)).codes == []


def test_only_where_it_is_asked_for(run):
    assert run(program()).codes == []


def test_of_figures_that_are_as_good_as_equal_nothing_is_said(run):
    text = program().replace("model.eval()", "model.eval(); model.weight.data.zero_(); model.bias.data.zero_()")
    assert run(text, select=("TS316",)).codes == []
