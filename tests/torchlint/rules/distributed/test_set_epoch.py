"""801 where a program also runs in one process, with another sampler, and where batches are made by a batch sampler."""

from tests.torchlint.dryrun.support import holds, table

HEAD = """
import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler


def train(loader, model, optimizer):
    for x, y in loader:{mark}
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

"""
FOUND, SILENT = HEAD.replace("{mark}", "  # <- 801"), HEAD.replace("{mark}", "")


@table({
    "another sampler in one process": FOUND + """
def main(args, data, model, optimizer):
    if args.distributed:
        dist.init_process_group("nccl")
        sampler = DistributedSampler(data)
    else:
        sampler = RandomSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(args.epochs):
        train(loader, model, optimizer)
""",
    "in a batch sampler": FOUND + """
def main(args, data, model, optimizer):
    dist.init_process_group("nccl")
    loader = DataLoader(data, batch_sampler=BatchSampler(DistributedSampler(data), 4, drop_last=True))
    for epoch in range(args.epochs):
        train(loader, model, optimizer)
""",
    "told in the run of several": SILENT + """
def main(args, data, model, optimizer):
    if args.distributed:
        dist.init_process_group("nccl")
        sampler = DistributedSampler(data)
    else:
        sampler = RandomSampler(data)
    loader = DataLoader(data, batch_size=4, sampler=sampler)
    for epoch in range(args.epochs):
        if args.distributed:
            sampler.set_epoch(epoch)
        train(loader, model, optimizer)
""",
    "in no order that changes": SILENT + """
def main(args, data, model, optimizer):
    dist.init_process_group("nccl")
    sampler = DistributedSampler(data, shuffle=False) if args.distributed else SequentialSampler(data)
    loader = DataLoader(data, batch_sampler=BatchSampler(sampler, 4, drop_last=True))
    for epoch in range(args.epochs):
        train(loader, model, optimizer)
""",
})
def test_the_sampler_of_several_processes_is_told_the_epoch(code):
    holds(code)
