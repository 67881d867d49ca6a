"""822: a group of one process has no others that could wait. 802, 805: what several ways to wrap a model, or to make data, have in common."""

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


WAYS = """
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

def state_of(model):
    if type(model) == nn.DataParallel:
        return model.module.state_dict()
    return model.state_dict()

def worker(gpu, args):
    if args.distributed:
        dist.init_process_group("nccl", init_method=args.url, world_size=args.size, rank=args.rank * 8 + gpu)
    {first}
    if args.dataset == "cifar":
        data = datasets.CIFAR10(args.root, transform=transforms.ToTensor())
    elif args.dataset == "svhn":
        data = {second}
    loader = DataLoader(data, batch_size=args.batch, shuffle=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))
    if args.distributed:
        if gpu is not None:
            torch.cuda.set_device(gpu)
            model.cuda(gpu)
            model = nn.parallel.DistributedDataParallel(model, device_ids=[gpu])
        else:
            model.cuda()
            model = nn.parallel.DistributedDataParallel(model)
    elif gpu is not None:
        torch.cuda.set_device(gpu)
        model = model.cuda(gpu)
    else:
        model = nn.DataParallel(model.cuda()).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True)).backward()
            optimizer.step()
        {save}

def main(args):
    mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(args,))
"""
FIRST, SECOND = "data = []", "datasets.SVHN(args.root, transform=transforms.ToTensor())"
SAVE = 'torch.save({"epoch": epoch, "state": state_of(model)}, args.path)'


@pytest.mark.parametrize("first, second, save, told", [
    (FIRST, SECOND, SAVE, {802, 805}),
    ("pass", SECOND, SAVE, {802, 805}),
    (FIRST, SECOND, "if args.rank * 8 + gpu == 0: " + SAVE, {802}),
    (FIRST, "own_part(args.root, args.rank)", SAVE, {805}),
    ("data = [(torch.zeros(3, 32, 32), 0)]", SECOND, SAVE, {805}),
])
def test_several_ways_to_wrap_and_to_make_data(first, second, save, told):
    assert {number for _, number in found(IMPORTS + WAYS.format(first=first, second=second, save=save))} & {802, 805} == told
