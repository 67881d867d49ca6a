"""804 where each call names the device, and the process does not know it."""

from tests.torchlint.dryrun.support import holds, table
from torchlint.api import check

HEAD = """
import os
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
"""
MAIN = """
def main(rank, world_size, net):
    {before}
    dist.init_process_group({init}){mark}
    {behind}
    net.to(rank)
    net = DistributedDataParallel(net, device_ids={ids})
    dist.barrier()
"""


def _main(mark="", before="pass", behind="pass", init='"nccl", rank=rank, world_size=world_size', ids="[rank]"):
    return HEAD + MAIN.format(mark="  # <- 804" * bool(mark), before=before, behind=behind, init=init, ids=ids)


@table({
    "nobody says": _main(mark=True),
    "of torchrun": _main(mark=True, behind='rank = int(os.environ["LOCAL_RANK"])'),
    "set before": _main(before="torch.cuda.set_device(rank)"),
    "set behind": _main(behind="torch.cuda.set_device(rank)"),
    "of any accelerator": _main(behind="torch.accelerator.set_device_index(rank)"),
    "shown one GPU": _main(before='os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)', ids="[0]"),
    "the group has it": _main(init='"nccl", device_id=torch.device("cuda", rank)'),
    "out of sight": _main(before="from helpers import setup_gpu; setup_gpu(rank)"),
    "on the CPU": _main(init='"gloo"'),
    "one device for all": _main(ids="[0]"),
    "several devices": _main(ids="[rank, rank + 1]"),
    "none": _main(ids="None"),
    "nothing goes by the current device": _main().replace("    dist.barrier()\n", ""),
    "pinned memory does not": _main().replace("dist.barrier()", "torch.utils.data.DataLoader(net.data, pin_memory=True)"),
    "but what is gathered": _main(mark=True).replace("dist.barrier()", "dist.all_gather_object([None] * world_size, rank)"),
    "a barrier that is told": _main().replace("dist.barrier()", "dist.barrier(device_ids=[rank])"),
})
def test_own_gpu(code):
    holds(code)


def test_a_file_that_imports_it_may_choose(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    trainer = tmp_path / "trainer.py"
    trainer.write_text("import torch\n" + _main())
    (tmp_path / "other.py").write_text("import torch\ntorch.cuda.set_device(1)\n")
    assert [finding.code for finding in check(trainer, cache=False)] == ["TL804"]
    (tmp_path / "start.py").write_text("import torch\nfrom trainer import main\ntorch.cuda.set_device(0)\nmain(0, 1, None)\n")
    assert [finding.code for finding in check(trainer, cache=False)] == []


NAMED = """
import argparse
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--dist-backend", default="{default}")
args = parser.parse_args()

def main(net, rank):
    device = {device}
    dist.init_process_group({backend})
    net = nn.Linear(4, 4).to(device){mark}
    return DistributedDataParallel(net)
"""


def _named(device='torch.device("cuda")', backend='"nccl"', default="nccl", mark="  # <- 804"):
    return NAMED.format(device=device, backend=backend, default=default, mark=mark)


@table({
    "a device that has a name": _named(),
    "a text": _named('"cuda"'),
    "or the CPU": _named('torch.device("cuda" if torch.cuda.is_available() else "cpu")'),
    "a number": _named('torch.device("cuda", rank)', mark=""),
    "a number in a text": _named('torch.device(f"cuda:{rank}")', mark=""),
    "the first": _named('torch.device("cuda:0")', mark=""),
    "made anew": _named('torch.device("cuda")\n    device = torch.device(rank)', mark=""),
    "an option of NCCL": _named(backend="backend=args.dist_backend"),
    "an option of Gloo": _named(backend="backend=args.dist_backend", default="gloo", mark=""),
})
def test_a_device_that_has_a_name(code):
    holds(code)
