"""822: a group of one process has no others that could wait."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found, holds

TRAINS = """
import torch.distributed as dist

def main(net, loader, size, args):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:9999", world_size={size}, rank=0)
    torch.cuda.set_device(0)
    model = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if not torch.isfinite(loss):
            return
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("size, told", [("1", False), ("2", True), ("size", True), ("args.world_size", True)])
def test_one_process_leaves_nobody_waiting(size, told):
    assert any(number == 822 for _, number in found(IMPORTS + TRAINS.format(size=size))) is told


def test_nothing_else_is_said_of_it():
    holds(TRAINS.format(size="1"))
