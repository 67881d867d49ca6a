"""805 of a helper that leaves it to its callers to ask for the rank."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import torch.distributed as dist

def write(model, path):
    torch.save({{"model": model.state_dict()}}, path){inside}

def keep_best(acc, best, model, path):
    if acc > best:
        write(model, path)
        return acc
    return best

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
        {first}:
            write(model, "last.pt")
        {second}:
            best = keep_best(validate(model), best, model, "best.pt"){outside}
"""
BAD = "  # <- 805"


def program(first, second, inside="", outside=""):
    return PROGRAM.format(first=first, second=second, inside=inside, outside=outside)


@table({
    "the call that does not ask": program("if rank == 0", "if epoch % 2 == 0", outside=BAD),
    "neither asks": program("if epoch % 5 == 0", "if epoch % 2 == 0", inside=BAD),
    "both ask": program("if rank == 0", "if rank == 0 and epoch % 2 == 0"),
})
def test_a_helper_of_several_calls(code):
    holds(code)


BEGUN = """
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(gpu, model, args):
    if args.distributed:
        dist.init_process_group("nccl", rank=gpu)
        torch.cuda.set_device(gpu)
    torch.save(model.state_dict(), "last.pt")  # <- 805

def main(model, args):
    if args.distributed:
        mp.spawn(worker, nprocs=8, args=(model, args))
        worker(0, model, args)
    else:
        worker(args.gpu, model, args)
"""


def test_the_ways_to_begin_are_no_calls_of_a_helper():
    holds(BEGUN)
