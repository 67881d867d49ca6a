"""809: told at the first step, by name, and not where DistributedDataParallel looks for itself."""

import pytest
import torch

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.spare = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        return self.body(x)


dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
try:
    net = Net()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(1):
        optimizer.zero_grad()
        output = model(torch.randn(8, 4))  # <- 809
        nn.functional.cross_entropy(output, torch.randint(0, 3, (8,))).backward()
        optimizer.step()
finally:
    dist.destroy_process_group()
"""
SOUND = {
    "it looks for them": ("DistributedDataParallel(net)", "DistributedDataParallel(net, find_unused_parameters=True)"),
    "they need none": ("net = Net()", "net = Net()\n    net.spare.requires_grad_(False)"),
    "they are used": ("return self.body(x)", "return self.body(x) + self.spare(x)"),
    "gradients are cleared, another mistake": ("        optimizer.step()", "        optimizer.zero_grad()\n        optimizer.step()"),
}
pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()), reason="torch was built without gloo"
)


def test_by_name_at_the_first_step(run):
    ran = run(PROGRAM)
    [told] = [finding for finding in ran.findings if finding.number == 809]
    assert (809, told.location.row) in ran.marked
    assert "`spare.weight`, `spare.bias` got no gradient" in told.message


@pytest.mark.parametrize("old, new", SOUND.values(), ids=list(SOUND))
def test_nothing_is_waited_for(run, old, new):
    assert old in PROGRAM
    ran = run(PROGRAM.replace(old, new, 1))
    assert ran.error is None
    assert "TS809" not in ran.codes, ran.san.report()
