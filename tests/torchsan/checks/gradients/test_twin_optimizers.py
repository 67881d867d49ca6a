"""118: of two models one is in no optimizer, since both optimizers were given the other one."""

from __future__ import annotations

import pytest

PROGRAM = """
import torch
import torch.nn.functional as F
from torch import nn

judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
maker = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
judge_optimizer = torch.optim.Adam({of_judge}.parameters(), lr=1e-3)
maker_optimizer = torch.optim.Adam({of_maker}.parameters(), lr=1e-3){mark}
real, fake = torch.ones(16, 1), torch.zeros(16, 1)
for _ in range(4):
    made = maker(torch.randn(16, 3))
    loss = F.binary_cross_entropy_with_logits(judge(torch.randn(16, 4)), real)
    loss = loss + F.binary_cross_entropy_with_logits(judge(made.detach()), fake)
    judge_optimizer.zero_grad()
    loss.backward()
    judge_optimizer.step()
    loss = F.binary_cross_entropy_with_logits(judge(maker(torch.randn(16, 3))), real)
    maker_optimizer.zero_grad()
    loss.backward()
    maker_optimizer.step()
"""


def test_both_have_the_judge(run):
    ran = run(PROGRAM.format(of_judge="judge", of_maker="judge", mark="  # <- 118"))
    assert ran.lines == ran.marked, ran.san.report()
    assert "`maker` is trained by no optimizer" in ran.findings[0].message


def test_each_has_its_own(run):
    assert run(PROGRAM.format(of_judge="judge", of_maker="maker", mark="")).codes == []


@pytest.mark.parametrize("frozen", ["maker.requires_grad_(False)", "maker.eval().requires_grad_(False)"])
def test_a_model_that_is_not_to_be_trained(run, frozen):
    text = PROGRAM.format(of_judge="judge", of_maker="judge", mark="").replace("real, fake =", f"{frozen}\nreal, fake =")
    assert "TS118" not in run(text).codes
