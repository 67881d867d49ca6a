"""806 where the same collective stands elsewhere, too: under conditions that hold for all processes, or as the others' part."""

from tests.torchlint.dryrun.support import holds, table

TRAIN = """
import torch.distributed as dist
import helpers

def main(args, model, loader, path):
    if args.distributed:
        dist.init_process_group("nccl")
        dist.barrier()
    for epoch in range(args.epochs):
        for x in loader:
            model(x).sum().backward()
        {asked}
            torch.save(model.state_dict(), path)
            if args.distributed:
                dist.barrier(){mark}
"""


@table({
    "all came to another one": TRAIN.format(asked="if helpers.is_main_process():", mark="  # <- 806"),
    "a number is asked for": TRAIN.format(asked="if args.rank == 0:", mark="  # <- 806"),
    "all come to it": TRAIN.format(asked="with open(path):", mark=""),
    "the others' part under another condition": """
import torch.distributed as dist

def main(args, rank, download):
    if args.distributed and rank not in (0, -1):
        dist.barrier()
    data = download()
    if rank == 0:
        dist.barrier()
    return data
""",
    "the others' part within the same one": """
import torch.distributed as dist

def main(args, rank, download):
    if args.distributed:
        if rank != 0:
            dist.barrier()
        download()
        if rank == 0:
            dist.barrier()
""",
})
def test_the_others_part(code):
    holds(code)
