"""603, 613: samplers that count the samples up. 603: optimizers that are made anew in each epoch of one training."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import torchvision
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler, SequentialSampler
from torch.utils.data.sampler import Sampler

class Counted(Sampler):
    def __init__(self, count, start=0):
        self.count, self.start = count, start

    def __iter__(self):
        {gives}

    def __len__(self):
        return self.count
{more}
def main(distributed):
    data = torchvision.datasets.MNIST('d')
    loader = DataLoader(data, batch_size=4, sampler={sampler}){mark}
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for {turn} in range(9):
        {inside}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""
FOUND = "  # <- 603"
TOLD = "distributed and loader.sampler.set_epoch(epoch)"
RANGE = "return iter(range(self.start, self.start + self.count))"


def program(sampler="Counted(48000, 0)", gives=RANGE, more="", inside="print(epoch)", turn="epoch", mark=""):
    return PROGRAM.format(sampler=sampler, gives=gives, more=more, inside=inside, turn=turn, mark=mark)


@table({
    "a range": program(mark=FOUND),
    "a range that is handed on": program(gives="yield from range(self.count)", mark=FOUND),
    "torch's own": program("SequentialSampler(data)", mark=FOUND),
    "torch's own in one process": program("DistributedSampler(data) if distributed else SequentialSampler(data)", inside=TOLD, mark=FOUND),
    "an order that is drawn": program(gives="return iter(torch.randperm(self.count).tolist())"),
    "numbers that are mixed": program(gives="return iter(random.sample(range(self.count), self.count))"),
    "a range of what is drawn": program(gives="return iter(range(random.randrange(9), self.count))"),
    "other numbers in each epoch": program(more="\n    def set_epoch(self, epoch):\n        self.start = epoch\n"),
    "something is done before": program(gives="self.start += 1\n        " + RANGE),
    "random or not": program("RandomSampler(data) if distributed else SequentialSampler(data)"),
    "one for each process": program("DistributedSampler(data)", inside=TOLD),
    "meant": program(mark="  # in order, easy ones first"),
})
def test_samplers_that_count_the_samples_up(code):
    holds(code)


ANEW = "optimizer = torch.optim.Adam(net.parameters(), lr=0.1 * 0.3 ** epoch)"


@table({
    "the model goes on": program(inside=ANEW, mark=FOUND),
    "a model for each turn": program(inside="net = nn.Linear(4, 2)\n        " + ANEW),
    "turns of something else": program(inside=ANEW.replace("epoch", "fold"), turn="fold"),
})
def test_optimizers_that_are_made_anew(code):
    holds(code)


CUT = """
import torchvision
from torch.utils.data import DataLoader, SequentialSampler
from torch.utils.data.sampler import Sampler
from torchvision import transforms

class Counted(Sampler):
    def __init__(self, count, start=0):
        self.count, self.start = count, start

    def __iter__(self):
        return iter({numbers})

    def __len__(self):
        return self.count

def main():
    data = torchvision.datasets.CIFAR10('d', transform=transforms.Compose([{transform}, transforms.ToTensor()]))
    val_loader = DataLoader(data, batch_size=4, sampler=Counted(5000, start=45000)){mark}
    net = nn.Linear(32, 2)
    net.eval()
    with torch.no_grad():
        for x, y in val_loader:
            print(net(x))
"""
FLIP, RESIZE, NUMBERS = "transforms.RandomHorizontalFlip()", "transforms.Resize(32)", "range(self.start, self.start + self.count)"


@table({
    "a part of augmented data": CUT.format(numbers=NUMBERS, transform=FLIP, mark="  # <- 613"),
    "a part of plain data": CUT.format(numbers=NUMBERS, transform=RESIZE, mark=""),
    "numbers of another kind": CUT.format(numbers="self.numbers()", transform=FLIP, mark=""),
})
def test_a_part_that_is_counted(code):
    holds(code)
