"""Analogues, written here, of silent errors of training that the literature reproduces: each is found, by its number,
on its line, within one step of its first effect. Those on two processes run in `test_on_ranks.py`; here stands which
program is whose. Of an autocast that does nothing, torch itself tells.

The list is that of TrainCheck (Jiang et al., "Training with Confidence: Catching Silent Errors in Deep Learning
Training with Automated Proactive Checks", OSDI 2025)."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from tests.torchsan.conftest import FIXTURES

ALONE = {
    "gradients are never cleared": ("missing_zero_grad", 101),
    "the head is frozen, and the optimizer holds it alone": ("frozen_head_trained", 138),
    "dropout is alive in evaluation": ("dropout_always_on", 204),
    "evaluated in training mode": ("validate_in_train_mode", 201),
    "spectral norm in evaluation": ("spectral_norm_evaluated_first", 209),
    "the optimizer's step is lost": ("never_stepped", 103),
    "the optimizer holds another model": ("optimizer_of_another_model", 118),
}
ON_RANKS = {
    "the model inside the wrapper is called": ("raw_module", 807),
    "moved after the wrap, hooks lost": ("moved_after_wrap", 803),
    "clipped on one rank only": ("clipped_on_one_rank", 812),
    "the same NumPy seed on all ranks": ("same_numpy_seed", 813),
    "the optimizer is built before the model is sharded": ("built_before_shard", 815),
    "replicas drift apart after a damaged transfer": ("corrupted_transfer", 812),
}


@pytest.mark.parametrize(("name", "number"), ALONE.values(), ids=ALONE)
def test_found_by_name(run, name, number):
    path = FIXTURES / "broken" / f"{name}.py"
    ran = run(path)
    assert {finding.number for finding in ran.findings} == {number}
    first = re.search(r"^EFFECT = (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    effect = int(first[1]) if first else 0
    # An error that takes two steps to be one (a gradient that is there twice) has its first effect at the second.
    assert min(finding.step for finding in ran.findings) <= effect + 2
    assert {(finding.number, finding.location.row) for finding in ran.findings} == ran.marked


@pytest.mark.parametrize(("name", "number"), ON_RANKS.values(), ids=ON_RANKS)
def test_is_among_the_programs_on_ranks(name, number):
    text = (FIXTURES / "ranks" / "broken" / f"{name}.py").read_text(encoding="utf-8")
    assert {int(n) for marks in re.findall(r"# <- ([\d, ]+)", text) for n in marks.split(",")} == {number}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_autocast_that_does_nothing_is_said_by_torch(device):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("autocast for CUDA does something here")
    with pytest.warns(UserWarning, match="[Dd]isabling"):
        with torch.autocast(device, dtype=torch.float64 if device == "cpu" else torch.float16):
            assert nn.Linear(4, 4)(torch.randn(2, 4)).dtype is torch.float32
