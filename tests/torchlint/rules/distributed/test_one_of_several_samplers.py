"""801 where a program has several samplers, and tells the epoch to some of them."""

from tests.torchlint.dryrun.support import IMPORTS, found, holds, table

PROGRAM = """
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, labelled, unlabelled):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.sampler = DistributedSampler(labelled)
        self.loader = DataLoader(labelled, batch_size=4, sampler=self.sampler)
        self.other_sampler = {other}
        self.other_loader = DataLoader(unlabelled, batch_size=4, sampler=self.other_sampler)
        self.others = iter(self.other_loader)

    def other(self):
        try:
            return next(self.others)
        except StopIteration:
            self.other_sampler.set_epoch(self.other_sampler.epoch + 1)
            self.others = iter(self.other_loader)
            return next(self.others)

    def fit(self, epochs):
        for epoch in range(epochs):
            {told}
            for x, y in self.loader:{mark}
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y) + self.model(self.other()).square().mean()
                loss.backward()
                self.optimizer.step()
{more}
"""
BAD = "  # <- 801"


def program(told="pass", other="DistributedSampler(unlabelled)", more="", mark=""):
    return PROGRAM.format(told=told, other=other, more=more, mark=mark)


@table({
    "the other one": program(mark=BAD),
    "both": program("self.sampler.set_epoch(epoch)"),
    "one through its loader": program("self.loader.sampler.set_epoch(epoch)"),
    "one that both loaders have": program(other="self.sampler"),
    "in a method that nobody calls in view": program(more="\n    def begin(self, sampler, epoch):\n        sampler.set_epoch(epoch)\n"),
    "by its name": program("getattr(self.sampler, 'set_epoch')(epoch)"),
    "what is in no file": program("for each in samplers_of(self): each.set_epoch(epoch)"),
})
def test_one_of_several_samplers(code):
    holds(code)


# A model that is asked, and learns nothing of it: the order is nothing to that.
VALIDATION = """
            for x, y in self.held_out:
                print(self.model(x), y)
"""
HELD_OUT = "self.held_out = DataLoader(unlabelled, sampler=DistributedSampler(unlabelled))\n        self.other_sampler ="


def test_a_validation_is_not_told():
    text = IMPORTS + program("self.sampler.set_epoch(epoch)", more=VALIDATION).replace("self.other_sampler =", HELD_OUT)
    assert 801 not in [number for _, number in found(text)]
