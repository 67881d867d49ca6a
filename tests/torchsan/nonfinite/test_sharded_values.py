"""Of a model that is spread over processes, only this rank's part is looked at: what is asked of the whole waits for ranks
that ask nothing."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

import torchsan

GROUPS = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
fsdp = pytest.importorskip("torch.distributed.fsdp")
OURS = ("/torchsan/checks/", "/torchsan/nonfinite/", "/torchsan/stream/ledger", "/torchsan/stream/step_measures")
pytestmark = pytest.mark.skipif(not hasattr(fsdp, "fully_shard"), reason="torch has no fully_shard")


@pytest.fixture
def spoken(monkeypatch):
    """What our checks say to other processes. Those of this group answer at once."""
    said = []

    def listening(real):
        def call(self, /, *args, **kwargs):
            frame = sys._getframe(1)
            while "c10d" in str(self) and frame is not None:
                if any(room in frame.f_code.co_filename for room in OURS):
                    said.append(f"{self} at {frame.f_code.co_filename}:{frame.f_lineno}")
                    break
                frame = frame.f_back
            return real(self, *args, **kwargs)

        return call

    for kind in (torch._ops.OpOverload, torch._ops.OpOverloadPacket):
        monkeypatch.setattr(kind, "__call__", listening(kind.__call__))
    torch.distributed.init_process_group("fake", store=GROUPS.FakeStore(), rank=0, world_size=2)
    yield said
    torch.distributed.destroy_process_group()


def train(bad_step):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    for layer in (model[0], model[2]):
        fsdp.fully_shard(layer)
    fsdp.fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(8):
        loss = model(torch.randn(8, 8)).square().mean()
        if step == bad_step:
            loss = torch.log(loss * 0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("bad_step", [None, 3])
def test_nobody_is_waited_for(spoken, level, bad_step):
    with torchsan.watch(on_finding="collect", level=level) as san:
        train(bad_step)
    assert not san.off
    assert not spoken, spoken[:3]
    assert bool({121, 422} & {f.number for f in san.findings}) == (bad_step is not None)
