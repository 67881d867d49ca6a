"""819 of a class of samplers that is chosen, and of which nothing is made."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler


def loader_of(data, args):
    {before}order = {chosen}{mark}
    {between}
    return DataLoader(data, batch_size=8{more})
"""
ONE_OF_TWO = "RandomSampler if args.rank == -1 else DistributedSampler"
BAD = "  # <- 819"


def program(mark="", chosen=ONE_OF_TWO, before="", between="", more=""):
    return PROGRAM.format(mark=mark, chosen=chosen, before=before, between=between, more=more)


@table({
    "one of two": program(BAD),
    "beside shuffling": program(BAD, more=", shuffle=True"),
    "what shuffling is": program(chosen="RandomSampler", more=", shuffle=True"),
    "it makes the sampler": program(more=", sampler=order(data)"),
    "it makes one for something else": program(between="args.order = order(data)"),
    "handed on": program(between="args.keep(order)"),
    "of the whole file": program(before="global order\n    "),
    "no sampler of samples": program(chosen="BatchSampler"),
    "of one that is not known": program(chosen="args.order if args.order else DistributedSampler"),
    "another loader has one": program(between="order = RandomSampler(data)", more=", sampler=order"),
})
def test_chosen(code):
    holds(code)
