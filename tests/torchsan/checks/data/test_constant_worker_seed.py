"""606: workers that are all seeded alike, by a `worker_init_fn`, and functions that seed them well."""

from __future__ import annotations

import pytest

PROGRAM = """
import os
import random
from functools import partial

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SEED = 42


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Noisy(Dataset):
    def __init__(self):
        self.x = torch.randn(16, 4)

    def __len__(self):
        return len(self.x)

    def jitter(self, x):
        return x + {noise}

    def __getitem__(self, index):
        return self.jitter(self.x[index]), 0.0


{function}

loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers={workers}, worker_init_fn={init})
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        (model(x.float()).squeeze(1) - y.float()).pow(2).mean().backward()
        optimizer.step()
"""
NUMPY, TORCH, PYTHON = "np.random.rand() * 0.1", "torch.randn(4) * 0.1", "random.uniform(0, 0.1)"


def program(function, noise=NUMPY, init="seed_worker", workers=2):
    return PROGRAM.format(function=function, noise=noise, init=init, workers=workers)


@pytest.mark.parametrize(("function", "noise"), [
    ("def seed_worker(worker_id):\n    np.random.seed(SEED)  # <- 606", NUMPY),
    ("def seed_worker(worker_id):\n    torch.manual_seed(0)  # <- 606\n    print('ready')", TORCH),
    ("def seed_worker(_):\n    set_seed(SEED)  # <- 606", PYTHON),
    ("seed_worker = partial(lambda seed, worker: random.seed(seed), 7)  # <- 606", PYTHON),
])
def test_found(run, function, noise):
    ran = run(program(function, noise))
    assert {number for number, _ in ran.lines} == {606}, ran.san.report()
    if "partial" not in function and "set_seed" not in function:
        assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize(("function", "noise"), [
    ("def seed_worker(worker_id):\n    np.random.seed(SEED + worker_id)", NUMPY),
    ("def seed_worker(worker_id):\n    np.random.seed(torch.initial_seed() % 2**32)", NUMPY),
    ("def seed_worker(_):\n    set_seed(torch.utils.data.get_worker_info().seed % 2**32)", NUMPY),
    ("def seed_worker(_):\n    np.random.seed(int.from_bytes(os.urandom(4), 'little'))", NUMPY),
    ("def seed_worker(_):\n    np.random.seed(SEED)", TORCH),  # nothing is drawn from what it seeds
    ("def seed_worker(_):\n    np.random.seed(SEED)", "0.1"),
    ("def seed_worker(_):\n    torch.set_num_threads(1)", TORCH),
    ("seed_worker = partial(lambda seed, worker: random.seed(seed + worker), 7)", PYTHON),
])
def test_sound(run, function, noise):
    assert run(program(function, noise)).codes == []
