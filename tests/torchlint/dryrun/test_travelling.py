"""What is made in one place and used in another: out of namespaces and records, through progress bars, in a loop over one phase."""

from .support import holds, table


@table({
    "out of a namespace": """
from types import SimpleNamespace

def main(loader):
    ctx = SimpleNamespace(net=nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1)), seen=0)
    ctx.optimizer = torch.optim.SGD(ctx.net.parameters(), lr=0.1)
    for x, y in loader:
        loss = F.cross_entropy(ctx.net(x), y)  # <- 301
        loss.backward()  # <- 101
        ctx.optimizer.step()
        ctx.seen += 1
""",
    "out of a namespace that somebody else is given, too": """
from types import SimpleNamespace
from elsewhere import begin

def main(loader):
    net = nn.Linear(4, 2)
    ctx = SimpleNamespace(net=net, optimizer=torch.optim.SGD(net.parameters(), lr=0.1))
    for x, y in loader:
        begin(ctx)
        F.cross_entropy(ctx.net(x), y).backward()
        ctx.optimizer.step()
""",
    "what a namespace does not have is not known": """
from argparse import Namespace

def main(loader, **more):
    args = Namespace(lr=0.1)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr)
    for x, y in loader:
        if args.train:
            optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
""",
    "out of a NamedTuple that is given all in its order": """
from typing import NamedTuple

class Parts(NamedTuple):
    net: nn.Module
    optimizer: torch.optim.Optimizer

def main(loader):
    net = nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1))
    parts = Parts(net, torch.optim.SGD(net.parameters(), lr=0.1))
    for x, y in loader:
        loss = F.cross_entropy(parts.net(x), y)  # <- 301
        loss.backward()  # <- 101
        parts.optimizer.step()
""",
    "out of a dataclass that makes a part itself": """
from dataclasses import dataclass

@dataclass
class Base:
    net: nn.Module

@dataclass
class Parts(Base):
    rate: float = 0.1

    def __post_init__(self):
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=self.rate)

def main(loader):
    parts = Parts(nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=1)), 0.01)
    for x, y in loader:
        loss = F.cross_entropy(parts.net(x), y)  # <- 301
        loss.backward()  # <- 101
        parts.optimizer.step()
""",
    "through a progress bar that is a context": """
from tqdm import tqdm

def test(net: nn.Module, loader):
    net.eval()
    hits = 0
    with tqdm(loader, unit="batch") as bar:
        for x, y in bar:
            hits += (net(x).argmax(1) == y).sum().item()  # <- 202
            bar.set_postfix(hits=hits)
    return hits

@torch.no_grad()
def validate(net: nn.Module, loader):
    net.eval()
    hits = 0
    with tqdm(enumerate(loader)) as bar:
        for i, (x, y) in bar:
            hits += (net(x).argmax(1) == y).sum().item()
    return hits
""",
    "a loop over one phase is no loop": """
def train(net: nn.Module, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for phase in ["train"]:
        for i, (x, y) in enumerate(loader):
            with torch.set_grad_enabled(phase == "train"):
                (F.cross_entropy(net(x), y) / 4).backward()
                if (i + 1) % 4 == 0:
                    optimizer.step()
                    optimizer.zero_grad()
""",
    "an epoch in a loop over phases is one": """
def train(net: nn.Module, loader, epochs):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    for epoch in range(epochs):
        for phase in ["train"]:
            for x, y in loader:
                loss = F.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                scheduler.step(loss)  # <- 111
""",
})
def test_travelling(code):
    holds(code)
