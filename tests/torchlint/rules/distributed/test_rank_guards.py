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


LIBRARY = """
import torch.distributed as dist
import horovod.torch as hvd
import torch_xla.core.xla_model as xm
from accelerate import Accelerator
from lightning.fabric import Fabric
from mpi4py import MPI

accelerator, fabric, comm = Accelerator(), Fabric(), MPI.COMM_WORLD

def main(x, other, args):
    if {test}:
        {call}{mark}
    {behind}
"""
BAD = "  # <- 806"
READ = """
import torch.distributed as dist
from mpi4py import MPI

def read(path):
    if MPI.COMM_WORLD.Get_rank() == 0:
        data = MPI.COMM_WORLD.bcast(open(path).read())
    else:
        data = MPI.COMM_WORLD.bcast(None)
    return data

def main(model, path, best):
    {before}
        model.load_state_dict(read(path)){mark}
    if best.exists():
        model.load_state_dict(read(best))
"""


def library(test, call, mark=BAD, behind="return x"):
    return LIBRARY.format(test=test, call=call, mark=mark, behind=behind)


@table({
    "Accelerate waits": library("accelerator.is_main_process", "accelerator.wait_for_everyone()"),
    "Accelerate gathers": library("accelerator.is_local_main_process", "x = accelerator.gather_for_metrics(x)"),
    "Accelerate waits with all": library("args.verbose", "accelerator.wait_for_everyone()", ""),
    "the others wait first": library(
        "not accelerator.is_main_process", "accelerator.wait_for_everyone()", "",
        "if accelerator.is_main_process:\n        accelerator.wait_for_everyone()",
    ),
    "Fabric waits": library("fabric.global_rank == 0", "fabric.barrier()"),
    "somebody else's gather": library("dist.get_rank() == 0", "x = other.gather(x)", ""),
    "Horovod": library("hvd.rank() == 0", "hvd.broadcast_parameters(x, root_rank=0)"),
    "XLA": library("xm.is_master_ordinal()", "xm.rendezvous('saved')"),
    "MPI": library("comm.Get_rank() == 0", "comm.Barrier()"),
    "MPI, sent and received": library("comm.Get_rank() == 0", "comm.bcast(x)", "", "if comm.Get_rank() != 0:\n        x = comm.bcast(None)"),
    "MPI, of a part": library("comm.Get_rank() == 0", "comm.Split(0).bcast(x)", ""),
    "a helper with both parts, for one process": READ.format(before="if dist.get_rank() == 0:", mark=BAD),
    "a helper with both parts, for all": READ.format(before="if path:", mark=""),
})
def test_collectives_of_libraries(code):
    holds(code)
