"""824: the norm that clipping gives was the shard's up to torch 2.9."""

import pytest

from tests.torchlint.dryrun.support import RULES, found
from torchlint.engine import Engine

TEXT = """
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

def train(model: nn.Module, loader):
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, (inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(norm.item())
"""


@pytest.mark.parametrize("release, told", [((2, 9), True), ((2, 10), False), (None, False)])
def test_the_norm_of_clipping(release, told):
    assert found(TEXT, judge=Engine(RULES, torch_version=release)) == ([(15, 824)] if told else [])


def test_where_the_parts_are_put_together():
    together = TEXT.replace("norm.item()", "norm.full_tensor().item()")
    assert found(together, judge=Engine(RULES, torch_version=(2, 9))) == []
