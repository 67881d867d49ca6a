"""901 of files that the program writes itself, with more in them than weights."""

import pytest

from tests.torchlint.dryrun.support import holds, table

ARGS = """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    args = parser.parse_args()
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    if args.resume:
        checkpoint = torch.load(args.resume, map_location="cpu")MARK
        net.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "args": GIVEN}, "last.pt")

main()
"""


@pytest.mark.parametrize(("given", "mark"), [("args", "  # <- 901"), ("vars(args)", ""), ("args.__dict__", ""), ("args.resume", "")])
def test_a_namespace(given, mark):
    holds(ARGS.replace("GIVEN", given).replace("MARK", mark))


def test_another_file_may_be_read():
    code = ARGS.replace("GIVEN", "args").replace("MARK", "")
    holds(code.replace('checkpoint["optimizer"]', 'checkpoint["optimizer_state"]'))
    holds("torch.serialization.add_safe_globals([object])\n" + code)


@table({
    "a whole optimizer, by a helper": """
def save_checkpoint(state, path):
    torch.save(state, path)

def train(net: nn.Module, resume):
    optimizer = torch.optim.Adam(net.parameters())
    start = 0
    if resume:
        checkpoint = torch.load("last.pt")  # <- 901
        start = checkpoint["epoch"]
        net.load_state_dict(checkpoint["model"])
        optimizer = checkpoint["optimizer"]
    save_checkpoint({"epoch": start, "model": net.state_dict(), "optimizer": optimizer}, "last.pt")
""",
    "one of two files is plain": """
def train(net: nn.Module, args):
    optimizer = torch.optim.Adam(net.parameters())
    checkpoint = torch.load(args.resume)
    net.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "best": optimizer}, "a.pt")
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, "b.pt")
""",
    "a figure of NumPy's": """
import numpy as np

def train(net: nn.Module, args, losses):
    checkpoint = torch.load(args.resume)  # <- 901
    net.load_state_dict(checkpoint["model"])
    best = checkpoint["best"]
    torch.save({"model": net.state_dict(), "best": np.mean(losses)}, "a.pt")

def plain(net: nn.Module, args, losses):
    checkpoint = torch.load(args.resume)
    net.load_state_dict(checkpoint["model"])
    best = checkpoint["best"]
    torch.save({"model": net.state_dict(), "best": float(np.mean(losses))}, "a.pt")
""",
    "a model that another method writes": """
class Agent:
    def __init__(self, env):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def save(self):
        torch.save(self.net, "net.pkl")  # <- 902

    def load(self):
        self.net = torch.load("net.pkl")  # <- 901
""",
    "a state that another method writes": """
class Agent:
    def __init__(self, env):
        self.net = nn.Linear(4, 2)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def save(self):
        torch.save(self.net.state_dict(), "net.pkl")

    def load(self):
        self.net.load_state_dict(torch.load("net.pkl"))
""",
    "a whole model, written and read": """
net = nn.Linear(4, 2)
torch.save(net, "net.pt")  # <- 902
again = torch.load("net.pt")  # <- 901
print(again(torch.randn(1, 4)))
""",
    "whoever says so": """
net = nn.Linear(4, 2)
torch.save(net, "net.pt")  # <- 902
again = torch.load("net.pt", weights_only=False)
print(again(torch.randn(1, 4)))
""",
})
def test_what_is_written(code):
    holds(code)
