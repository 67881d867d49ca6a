"""606 of NumPy's global generator, which PyTorch seeds in its workers since 1.9: by what the project's requirements admit."""

import pytest

from tests.torchlint.support import write
from torchlint import check

PROGRAM = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows, noisy=True):
        self.rows, self.noisy = rows, noisy

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        x, y = self.rows[index]
        if self.noisy:
            x = x + np.random.normal(0, 0.1, size=4).astype("float32")
        return x, y


def train(rows, workers):
    loader = DataLoader(Rows(rows), batch_size=8, shuffle=True, num_workers=workers)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(10):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
"""
SEEDED = PROGRAM.replace("num_workers=workers", "num_workers=workers, worker_init_fn=lambda _: np.random.seed(torch.initial_seed() % 2**32)")


def rows_told(folder, requirement, program):
    write(folder, {"requirements.txt": requirement + "\n", "train.py": program})
    return [finding.location.row for finding in check(folder, cache=False, select=("TL606",))]


@pytest.mark.parametrize(("requirement", "told"), [
    ("torch==1.4.0", True), ("torch>=1.2,<1.9", True), ("torch>=1.2", False), ("torch==1.9.0", False), ("numpy", False), ("torch<=1.12", False),
])
def test_by_requirements(tmp_path, requirement, told):
    row = PROGRAM[: PROGRAM.index("np.random.normal")].count("\n") + 1
    assert rows_told(tmp_path, requirement, PROGRAM) == ([row] if told else [])


@pytest.mark.parametrize("program", [
    pytest.param(SEEDED, id="seeded in each worker"),
    pytest.param(PROGRAM.replace("num_workers=workers", "num_workers=0"), id="no workers"),
    pytest.param(PROGRAM.replace("num_workers=workers", "num_workers=1"), id="one worker"),
    pytest.param(PROGRAM.replace("Rows(rows)", "Rows(rows, noisy=False)"), id="draws nothing"),
    pytest.param(PROGRAM.replace('np.random.normal(0, 0.1, size=4).astype("float32")', "torch.randn(4)"), id="torch's"),
    pytest.param(PROGRAM.replace("    loader =", "    torch.multiprocessing.set_start_method('spawn')\n    loader ="), id="workers that are no copies"),
])
def test_silent(tmp_path, program):
    assert rows_told(tmp_path, "torch==1.4.0", program) == []
