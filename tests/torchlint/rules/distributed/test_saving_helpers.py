"""805 of a helper of another file that leaves it to its callers to ask for the rank."""

from pathlib import Path

import pytest

from tests.torchlint.support import write
from torchlint.api import check

HELPERS = """
import torch

def write(model, path):
    torch.save({"model": model.state_dict()}, path)

def keep_best(acc, best, model, path):
    if acc > best:
        write(model, path)
        return acc
    return best
"""
TRAIN = """
import torch
import torch.distributed as dist
import torch.nn.functional as F
import helpers

def main(model, loader, validate, args):
    dist.init_process_group("nccl")
    torch.cuda.set_device(args.local_rank)
    rank = dist.get_rank()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best = 0.0
    for epoch in range(args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        if FIRST:
            helpers.write(model, "last.pt")
        if SECOND:
            best = helpers.keep_best(validate(model), best, model, "best.pt")
"""


@pytest.mark.parametrize(("first", "second", "told"), [
    ("rank == 0", "epoch % 2 == 0", ("train.py", "keep_best")),
    ("epoch % 5 == 0", "epoch % 2 == 0", ("helpers.py", "torch.save")),
    ("rank == 0", "rank == 0 and epoch % 2 == 0", None),
])
def test_a_helper_of_several_calls(tmp_path, first, second, told):
    texts = {"pyproject.toml": "", "helpers.py": HELPERS, "train.py": TRAIN.replace("FIRST", first).replace("SECOND", second)}
    write(tmp_path, texts)
    assert [(name, told[1] in texts[name].splitlines()[row - 1]) for name, row in told_of(tmp_path)] == ([(told[0], True)] if told else [])


WORKER = """
import torch
import torch.distributed as dist

def worker(gpu, model, args):
    if args.distributed:
        dist.init_process_group("nccl", rank=gpu)
        torch.cuda.set_device(gpu)
    torch.save(model.state_dict(), "last.pt")
"""
BEGUN = """
import torch.multiprocessing as mp
from worker import worker

def main(model, args):
    if args.distributed:
        mp.spawn(worker, nprocs=8, args=(model, args))
        worker(0, model, args)
    elif args.gpu is not None:
        worker(args.gpu, model, args)
"""


def test_the_ways_to_begin_are_no_calls_of_a_helper(tmp_path):
    write(tmp_path, {"pyproject.toml": "", "worker.py": WORKER, "main.py": BEGUN})
    assert told_of(tmp_path) == [("worker.py", WORKER[: WORKER.index("torch.save")].count("\n") + 1)]


def told_of(folder):
    return [(Path(one.location.filename).name, one.location.row) for one in check(folder, cache=False) if str(one.code) == "TL805"]
