"""905: checkpoints that a program loads, and does not go on from."""

import pytest

from tests.torchlint.dryrun.support import holds

PROGRAM = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()
net, start_epoch = nn.Linear(4, 2), 0
if args.resume:
    checkpoint = torch.load("a.pt")
    net.load_state_dict(checkpoint["net"])
    start_epoch = checkpoint["epoch"]
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

def train(epoch):
    for x, y in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        F.mse_loss(net(x), y).backward()
        optimizer.step()

def save(epoch):
    state = {"net": net.state_dict(), "epoch": epoch}
    torch.save(state, "a.pt")MARK

if ASKED:
    for epoch in range(start_epoch, start_epoch + 10):
        train(epoch)
        save(epoch)
"""


@pytest.mark.parametrize(("asked", "mark"), [("not args.resume", ""), ("True", "  # <- 905"), ("not args.test", "  # <- 905")])
def test_trained_only_where_nothing_was_loaded(asked, mark):
    holds(PROGRAM.replace("ASKED", asked).replace("MARK", mark))


OF_OPTIONS = """
import argparse
from tqdm import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("--restore", default=None)
{option}
args = parser.parse_args()

def train(net, loader):
    if args.restore is not None:
        net.load_state_dict(torch.load(args.restore))  # <- 905
    optimizer = torch.optim.AdamW(net.parameters())
    for epoch in range(9):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        torch.save(net.state_dict(), f"{{epoch}}.pt")

train(nn.Linear(4, 2), [])
"""
NUMBERED = """
def main(net, loader):
    {numbers}
    net.load_state_dict(torch.load("logs/epoch_50.pt"))
    optimizer = torch.optim.Adam(net.parameters())
    {bar}
    for epoch in {over}:
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        torch.save(net.state_dict(), f"logs/weights_{{epoch}}.pt")
"""


FILLED = """
from collections import OrderedDict

def main(net, loader, args, others):
    if args.resume:
        saved = torch.load(args.resume)
        filled = OrderedDict()
        for key, value in {what}.items():
            filled[key[7:]] = value
        net.load_state_dict(filled){mark}
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(args.start_epoch, args.epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        torch.save(net.state_dict(), f"{{epoch}}.pt")
"""


def numbered(numbers="init_epoch, end = 50, 70", bar="pass", over="range(init_epoch, end)", told=True):
    text = NUMBERED.format(numbers=numbers, bar=bar, over=over)
    return text.replace('50.pt"))', '50.pt"))  # <- 905') if told else text


@pytest.mark.parametrize("code", [
    OF_OPTIONS.format(option='parser.add_argument("--wdecay", type=float)'),
    OF_OPTIONS.format(option='parser.add_argument("--stage")').replace("  # <- 905", ""),
    OF_OPTIONS.format(option='parser.add_argument("--train-stage", type=int)').replace("  # <- 905", ""),
    numbered(),
    FILLED.format(what="saved", mark="  # <- 905"),
    FILLED.format(what="others", mark=""),
    numbered("init_epoch = 50\n    end = 70"),
    numbered("init_epoch = 50\n    end = 50", told=False),
    numbered("init_epoch = 50\n    end = 70\n    end = 50", told=False),
    numbered(bar="bar = tqdm(list(range(init_epoch, end)))", over="bar"),
    numbered(bar="bar = tqdm(list(range(end)))", over="bar", told=False),
    numbered(bar="bar = tqdm(list(range(init_epoch, end)))\n    bar = others(bar)", over="bar", told=False),
])
def test_stages_and_loops(code):
    holds(code)


MODES = """
class Trainer:
    def __init__(self, args):
        self.model = nn.Linear(3, 1)
        if {asked}:
            self.optimizer = torch.optim.Adam(self.model.parameters())
        {other}
            self.model.load_state_dict(torch.load(args.weights)){mark}

    def train(self, args, loader):
        for epoch in range(args.epochs):
            for x, y in loader:
                self.optimizer.zero_grad()
                F.mse_loss(self.model(x), y).backward()
                self.optimizer.step()
            torch.save(self.model.state_dict(), args.weights)


def main(args, loader):
    Trainer(args).train(args, loader)
"""


@pytest.mark.parametrize("code", [
    MODES.format(asked='args.mode == "train"', other="else:", mark=""),
    MODES.format(asked='args.mode == "train"', other="if args.finished:", mark="  # <- 905"),
])
def test_loaded_where_nothing_is_trained(code):
    holds(code)
