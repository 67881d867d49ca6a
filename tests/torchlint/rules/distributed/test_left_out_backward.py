"""822 where a group is said to be of one process."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found, holds

TRAIN = """
import torch.distributed as dist

def main(model, loader, args):
    dist.init_process_group(backend="nccl", init_method="tcp://127.0.0.1:9999", world_size={size}, rank=0)
    model = torch.nn.parallel.DistributedDataParallel(model)
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


@pytest.mark.parametrize("size", ["2", "args.world_size"])
def test_several_processes(size):
    assert 822 in [number for _, number in found(IMPORTS + TRAIN.format(size=size))]


def test_one_process():
    holds(TRAIN.format(size="1"))
