"""816 where the state that fills a model is put together of what was read."""

from tests.torchlint.dryrun.support import holds, table

CODE = """
from collections import OrderedDict
import torch.distributed as dist

def fill(model, state):
    own = model.state_dict()
    for key in own.keys():
        if key in state and own[key].shape == state[key].shape:
            own[key] = state[key]
    model.load_state_dict(own)

def main(net: nn.Module, path, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    read = torch.load(path, weights_only=TrueWHERE)MARK
    FILLED
    return nn.parallel.DistributedDataParallel(net.cuda(), device_ids=[local_rank])
"""


def code(filled, where="", mark="  # <- 816"):
    return CODE.replace("WHERE", where).replace("MARK", mark).replace("FILLED", filled)


CUT = "new = OrderedDict()\n    for key, value in read.items():\n        new[key[7:]] = value\n    net.load_state_dict(new)"
SOME = "own = net.state_dict()\n    own.update({k: v for k, v in read.items() if k in own})\n    net.load_state_dict(own)"
NONE_OF_IT = "own = net.state_dict()\n    for key in own:\n        own[key] = torch.zeros(3)\n    net.load_state_dict(own)\n    print(read['epoch'])"
AFTERWARDS = "own = net.state_dict()\n    net.load_state_dict(own)\n    own.update(read)"
TO_CPU = ', map_location="cpu"'


@table({
    "keys are cut": code(CUT),
    "in one expression": code("net.load_state_dict({key[7:]: value for key, value in read['model'].items()})"),
    "some of it is taken": code(SOME),
    "by a helper": code("fill(net, read)"),
    "keys are cut, on the CPU": code(CUT, TO_CPU, ""),
    "some of it is taken, on the CPU": code(SOME, TO_CPU, ""),
    "by a helper, on the CPU": code("fill(net, read)", TO_CPU, ""),
    "none of it is taken": code(NONE_OF_IT, "", ""),
    "put in behind the load": code(AFTERWARDS, "", ""),
})
def test_put_together(code):
    holds(code)
