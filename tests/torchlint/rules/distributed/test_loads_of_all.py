"""816 under a condition that asks for something else than the process."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
import os
import torch.distributed as dist

def main(net: nn.Module, PARAMS):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    BEFORE
    if path and os.path.exists(path):
        net.load_state_dict(torch.load(path, weights_only=True))MARK
    return nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[local_rank])
"""
BAD = "  # <- 816"


def code(params="path=None, local_rank=-1", before="print(path)", mark=BAD):
    return CODE.replace("PARAMS", params).replace("BEFORE", before).replace("MARK", mark)


@table({
    "a parameter that stands before the rank": code(),
    "in a signature of several lines": code("path=None,\n         local_rank=-1, folder=os.path.join('a', 'b')"),
    "handed over beside the rank": code("path, local_rank", "setup(path=path, rank=local_rank)"),
    "a name that is set by the rank": code("path, local_rank", "path = path if local_rank == 0 else None", ""),
    "set by the rank beside its default": code(before="path = path if local_rank == 0 else None", mark=""),
})
def test_what_all_come_to(code):
    holds(code)
