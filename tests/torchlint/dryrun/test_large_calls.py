"""A call that took a large part of a root is not run twice: what is in it has been seen."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, events, found, runs
from torchlint.dryrun import large_calls

PROGRAM = """
import argparse

def train(args, device):
    model = nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for x, y in load(args):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).softmax(1), y)
        loss.backward()
        optimizer.step()

def main():
    args = argparse.ArgumentParser().parse_args()
    if args.gpus > 1:
        spawn(lambda rank: train(args, rank))
        train(args, 1)
    elif args.gpus == 1:
        train(args, 0)
    else:
        train(args, %s)

if __name__ == "__main__":
    main()
"""


def trainings(text, monkeypatch, large):
    monkeypatch.setattr(large_calls, "LARGE", large)
    return sum(len(events(run, "optimizer.create")) for run in runs(text) if run.root is None or run.root.name != "train")


@pytest.mark.parametrize("device", ["-1", "2"])
def test_by_several_ways(monkeypatch, device):
    text = PROGRAM % device
    everything = found(IMPORTS + text)
    assert trainings(text, monkeypatch, 10**6) == 3
    assert trainings(text, monkeypatch, 5) == 1
    assert found(IMPORTS + text) == everything != []


def test_with_something_else(monkeypatch):
    """A text may decide what is done."""
    assert trainings(PROGRAM % "'cpu'", monkeypatch, 5) == 2
