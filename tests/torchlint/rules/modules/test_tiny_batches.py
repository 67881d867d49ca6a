"""518: batches of one sample by an option's default, and batches that are dicts."""

from tests.torchlint.dryrun.support import RULES, holds, table
from torchlint.engine import Engine

_NET = """
import argparse
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 2)

    def forward(self, x):
        x = x["image"] if isinstance(x, dict) else x
        return self.head(torch.relu(self.norm(self.conv(x))).mean(dim=(2, 3)))

"""


@table({
    "one by default": _NET + """
def main(data):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", "-b", type=int, default=1)
    parser.add_argument("--eval-size", type=int, default=1)
    args = parser.parse_args()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for images, labels in DataLoader(data, batch_size=args.batch_size, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()  # <- 518
        optimizer.step()
    net.eval()
    with torch.no_grad():
        return [net(images).argmax(1) for images, _ in DataLoader(data, batch_size=args.eval_size)]
""",
    "more by default, or nobody knows": _NET + """
def main(data, config):
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for size in (args.batch_size, config.size):
        for images, labels in DataLoader(data, batch_size=size, shuffle=True, num_workers=args.workers):
            optimizer.zero_grad()
            F.cross_entropy(net(images), labels).backward()
            optimizer.step()
""",
    "a dict that is moved item by item": _NET + """
def train(data, device):
    net = Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for batch in DataLoader(data, shuffle=True):
        batch = {key: value.to(device) for key, value in batch.items()}
        optimizer.zero_grad()
        F.cross_entropy(net(batch), batch["label"]).backward()  # <- 518
        optimizer.step()
""",
    "a dict of several batches": _NET + """
def train(data, more, device):
    net = Net().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for one, other in zip(DataLoader(data), DataLoader(more, batch_size=8)):
        batch = {"image": torch.cat([one["image"], other["image"]]), "label": torch.cat([one["label"], other["label"]])}
        optimizer.zero_grad()
        F.cross_entropy(net(batch), batch["label"]).backward()
        optimizer.step()
""",
})
def test_batches_of_one(code):
    holds(code)


_OPTIONS = """
import argparse


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default={size})
    parser.add_argument("--no_cuda", action="store_true")
    options = parser.parse_args()
    options.name = "run"
    return options
"""
_TRAIN = """import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from options import read_options


def main(data):
    options = read_options()
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for images, labels in DataLoader(data, batch_size=options.batch_size, shuffle=True):
        if not options.no_cuda:
            images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()
"""


def test_the_options_are_read_in_another_file(tmp_path):
    train, one = tmp_path / "train.py", _OPTIONS.format(size=1)
    of_tests = _OPTIONS.format(size=1).replace("read_options", "read_options_of_tests")
    for options, told in ((one, [16]), (_OPTIONS.format(size=16), []), (of_tests + _OPTIONS.format(size=16), [])):
        (tmp_path / "options.py").write_text(options)
        train.write_text(_TRAIN)
        findings = Engine(RULES).check(str(train), _TRAIN).findings
        assert [finding.location.row for finding in findings if finding.number == 518] == told


@table({
    "moved where there is a GPU": _NET + """
def train(data, cuda):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for images, labels in DataLoader(data, shuffle=True):
        if cuda:
            images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()  # <- 518
        optimizer.step()
""",
    "or of another loader": _NET + """
def train(data, more, swap):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for (images, labels), (others, _) in zip(DataLoader(data, shuffle=True), DataLoader(more, batch_size=8, shuffle=True)):
        if swap:
            images = others
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()
""",
})
def test_on_each_way(code):
    holds(code)
