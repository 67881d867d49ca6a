"""007: means over unequal numbers of tokens; not where they are weighed, equal, or sums."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

k = 2
scaler = torch.amp.GradScaler('cpu')
model = nn.Sequential(nn.Embedding(32, 16, padding_idx=0), nn.Linear(16, 32))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for i, length in enumerate(LENGTHS):
    ids = torch.randint(1, 32, (4, 12))
    ids[:, length:] = 0
    wanted = ids[:, 1:].flatten()
    tokens = (wanted != 0).sum()
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), wanted, ignore_index=0)
    LOSS.backward()
    if (i + 1) % k == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
UNEQUAL = "[12, 3, 11, 4, 12, 2, 10, 3]"
EQUAL = "[9, 9, 8, 8, 7, 7, 6, 6]"


@pytest.mark.parametrize(
    ("lengths", "loss", "found"),
    [
        (UNEQUAL, "(loss / k)", True),
        (UNEQUAL, "scaler.scale(loss / k)", True),
        (EQUAL, "(loss / k)", False),
        (UNEQUAL, "(loss * tokens / 100)", False),
        (UNEQUAL, "(loss / k + 10 * model[1].weight.square().mean())", False),
        ("[12, 3]", "(loss / k)", False),
    ],
)
def test_shares(run, lengths, loss, found):
    ran = run(PROGRAM.replace("LENGTHS", lengths).replace("LOSS", loss))
    assert [f.number for f in ran.findings if f.number == 7] == [7] * found, ran.san.report()


def test_what_is_said(run):
    ran = run(PROGRAM.replace("LENGTHS", UNEQUAL).replace("LOSS", "(loss / k)"))
    told = next(finding for finding in ran.findings if finding.number == 7)
    assert "the batches of a step have 40, 12 tokens that count" in told.message and told.step == 1
