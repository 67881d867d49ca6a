"""122: an optimizer that each epoch builds, of a model that comes from somewhere."""

from tests.torchlint.dryrun.support import holds, table

PROGRAM = """
import models

{model}

def train_epoch(loader):
    optimizer = torch.optim.SGD(net.parameters(), lr={rate}, momentum=0.9){mark}
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

def main(args, loader):
    global net
    for epoch in range(args.epochs):
        {first}
        train_epoch(loader)
"""


def built(model, mark="  # <- 122", first="print(epoch)", rate="0.1"):
    return PROGRAM.format(model=model, mark=mark, first=first, rate=rate)


@table({
    "one that is read": built('net = torch.load("net.pt", weights_only=False)'),
    "one of a file that is read": built('kept = torch.load("net.pt", weights_only=False)\nnet = kept["net"]'),
    "one of two things": built('net = torch.load("net.pt", weights_only=False) if models.OLD else models.wide()\nnet = nn.DataParallel(net)'),
    "one that is read for each epoch": built(
        'net = None', "", first='net = torch.load(f"{epoch}.pt", weights_only=False)',
    ),
    "one that is made for each epoch": built("net = models.wide()", "", first="net = models.wide()"),
    "another rate for each epoch": built("net = models.wide()", "", rate="models.rate()"),
})
def test_of_a_model_made_before(code):
    holds(code)


RATE = """
def main(args, net, loader):
    rate = 0.1
    for epoch in range(args.epochs):
        {change}
        optimizer = torch.optim.Adam(net.parameters(), {given}){mark}
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
"""


def rated(change, mark="", given="lr=rate"):
    return RATE.format(change=change, mark=mark, given=given)


@table({
    "at two epochs": rated("if epoch in (20, 30):\n            rate *= 0.1", "  # <- 122"),
    "at one": rated("if epoch == 20:\n            rate = 0.01", "  # <- 122", given="rate"),
    "every tenth": rated("if epoch % 10 == 0:\n            rate /= 2", "  # <- 122"),
    "in all but the first": rated("if epoch > 0:\n            rate /= 2"),
    "in each": rated("rate *= 0.9"),
    "here, and in each": rated("if epoch == 20:\n            rate *= 0.1\n        rate *= 0.99"),
    "or else in each": rated("if epoch == 0:\n            print(rate)\n        else:\n            rate *= 0.9"),
    "made of the epoch, too": rated("if epoch == 20:\n            rate *= 0.1", given="lr=rate / (epoch + 1)"),
})
def test_a_rate_that_changes_in_some_epochs(code):
    holds(code)


LEARNING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.body(x))

    def thaw(self, epoch):
        for p in self.body.parameters():
            p.requires_grad = epoch > 3


def train_epoch(net, loader):
    optimizer = torch.optim.Adam({given}){mark}
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()


def main(loader, tools):
    net = Net()
    for epoch in range(10):
        {first}
        train_epoch(net, loader)
"""
ASKED = "filter(lambda p: p.requires_grad, net.parameters())"


def learning(given=ASKED, mark="", first="print(epoch)"):
    return LEARNING.format(given=given, mark=mark, first=first)


@table({
    "filtered": learning(mark="  # <- 122"),
    "listed": learning("[p for p in net.parameters() if p.requires_grad]", "  # <- 122"),
    "thawed between": learning(first="net.thaw(epoch)"),
    "thawed here": learning(first="net.body.requires_grad_(epoch > 3)"),
    "thawed by what is not seen": learning(first="tools.unfreeze(net, epoch)"),
})
def test_of_those_parameters_that_learn(code):
    holds(code)
