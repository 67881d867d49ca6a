"""A call that took a large part of a root is not run twice: what is in it has been seen."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, RULES, events, found, runs
from torchlint.dryrun import large_calls, parts
from torchlint.dryrun.interpreter import Run
from torchlint.dryrun.roots import runs_of
from torchlint.dryrun.world import World
from torchlint.rules import watched_calls

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


def many(calls):
    work = "".join(f"    x = torch.relu(x + {row})\n" for row in range(40))
    return (
        f"def part(model, x, y):\n{work}    return F.cross_entropy(model(x).softmax(1), y)\n\n"
        "def main(model, optimizer, data):\n    for x, y in data:\n        loss = 0\n"
        + "        loss = loss + part(model, x, y)\n" * calls
        + "        loss.backward()\n        optimizer.step()\n"
    )


def rooted(text):
    return {run.root.name: run for run in runs(text) if run.root is not None}


@pytest.fixture
def late(monkeypatch):
    """Sets what a root may do, and begins to be sparing at half of it."""

    def bound(steps, of_file=10**9):
        monkeypatch.setattr(Run, "most_steps", steps)
        monkeypatch.setattr(large_calls, "_LEAST", 50)
        monkeypatch.setattr(large_calls, "_LATE", ((steps, 0.5, of_file, 50),))

    return bound


def test_little_is_run_twice_where_little_is_left(late):
    """All calls of `part` are more than `main` may do: some are run, and the rest of `main` is seen."""
    late(8_000)
    main = rooted(many(40))["main"]
    assert not main.alone and main.steps > 4_000
    assert {number for _, number in found(IMPORTS + many(40))} == {101, 301}


def test_nothing_is_left_out_where_there_is_room(late):
    late(100_000)
    main = rooted(many(40))["main"]
    assert len(events(main, "loss")) == 40


def test_what_another_root_has_seen(late):
    """Two programs of one file that train alike: the second is not run again where the first has taken much of what the file may do."""
    text = many(2) + many(2).replace("def part", "def unused").replace("def main", "def again")
    late(100_000)
    first = rooted(text)
    assert [len(events(first[name], "loss")) for name in ("main", "again")] == [2, 2]
    late(100_000, of_file=first["main"].steps)
    second = rooted(text)
    assert [len(events(second[name], "loss")) for name in ("main", "again")] == [2, 0]


def file_of(count):
    work = "".join(f"        self.part{row} = load(args, {row})\n" for row in range(100))
    bodies = "".join(
        f"    def test_{row}(self, args, loader):\n        trainer = Trainer(args, {row})\n        model = nn.Linear(4, {row + 2})\n"
        "        for x, y in loader:\n            loss = F.cross_entropy(model(x).softmax(1), y)\n            trainer.train(loss)\n\n"
        for row in range(count)
    )
    trainer = f"class Trainer:\n    def __init__(self, args, n):\n{work}\n    def train(self, loss):\n        self.part1(loss)\n\n"
    return f"{trainer}class TestTrainer:\n{bodies}"


@pytest.fixture
def small_file(monkeypatch):
    """What a file of these tests may do is less than what all of them do."""
    monkeypatch.setattr(parts, "MOST_STEPS_OF_FILE", 24_000)
    monkeypatch.setattr(parts, "LEAST_STEPS", 100)
    monkeypatch.setattr(parts, "STEPS_OF_RUN", 10)
    monkeypatch.setattr(large_calls, "_MUCH_OF_FILE", 4_000)
    monkeypatch.setattr(large_calls, "_LEAST", 50)


def test_each_of_many_tests_is_seen(small_file):
    """What all of them make first is not made anew where each has little of what the file may do."""
    text = file_of(60)
    shortened, world = parts.Shortened(), World()
    every = runs_of(world, world.add("snippet.py", IMPORTS + text), watched_calls(RULES), shortened=shortened)
    seen = [run for run in every if run.root is not None and run.root.name.startswith("test_")]
    assert shortened.told() is None
    assert len(seen) == 60 and all(events(run, "loss") for run in seen)
    assert not seen[0].spared and any(run.spared for run in seen)


def test_few_tests_make_all_anew(small_file):
    assert not any(run.spared for run in runs(file_of(20)))


def test_of_an_object_that_is_not_made_again_nothing_is_known(small_file):
    spared = [run for run in runs(file_of(60)) if run.spared]
    trainers = [event.get("args")[0] for run in spared for event in events(run, "unknown") if event.get("name") == "__init__"]
    assert len(trainers) == len(spared) > 0
    assert not any(trainer.complete for trainer in trainers)


def test_a_part_of_a_model_is_always_made(small_file):
    """What an optimizer holds, and what mode a part is in, is asked of each of them."""
    text = file_of(60).replace("class Trainer:", "class Trainer(nn.Module):")
    text = text.replace("args, n):\n", "args, n):\n        super().__init__()\n")
    every = [run for run in runs(text) if not run.alone]
    assert len(every) > 20
    assert not any(event.get("name") == "__init__" and event.get("args") for run in every for event in events(run, "unknown"))
