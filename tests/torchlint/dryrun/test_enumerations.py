"""Members of enumerations: which phase a function is called for is known, however the program writes it."""

import pytest

from tests.torchlint.dryrun.support import found

PROGRAM = """
import enum
from enum import Enum, IntEnum, auto

import torch
from torch import nn

{members}
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.MSELoss()
loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)


def run(phase):
    total = 0.0
    for x, y in loader:
        out = model(x)  # forward
        loss = criterion(out, y)
        if {asked}:
            optimizer.zero_grad()
            loss.backward()  # backward
            optimizer.step()
        total += loss.item()
    return total


for epoch in range(3):
    run({train})
    with torch.no_grad():
        run({val})
{after}"""
AUTO = "class Phase(Enum):\n    TRAIN = auto()\n    VAL = auto()\n    TEST = auto()\n"
TUPLES = "class Phase(enum.Enum):\n    TRAIN = 0,\n    VAL = 1,\n    TEST = 2\n"
NUMBERS = "class Phase(IntEnum):\n    TRAIN = 0\n    VAL = 1\n    TEST = 2\n"
TEXTS = 'class Phase(str, Enum):\n    TRAIN = "train"\n    VAL = "val"\n    TEST = "test"\n'
MEMBERS = {"auto": AUTO, "tuples": TUPLES, "numbers": NUMBERS, "texts": TEXTS}
ASKED = ["phase == Phase.TRAIN", "phase is Phase.TRAIN", "phase in (Phase.TRAIN,)", 'phase.name == "TRAIN"', "not phase != Phase.TRAIN"]


def told(members, asked, train="Phase.TRAIN", val="Phase.VAL", after=""):
    """The numbers of what is found."""
    return [number for _, number in found(PROGRAM.format(members=members, asked=asked, train=train, val=val, after=after))]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("members", MEMBERS)
def test_nothing_goes_backward_in_the_validation(members, asked):
    assert told(MEMBERS[members], asked) == []


@pytest.mark.parametrize("members", MEMBERS)
def test_the_test_phase_builds_a_graph(members):
    assert told(MEMBERS[members], "phase == Phase.TRAIN", after="run(Phase.TEST)\n") == [202]


def test_members_that_are_one():
    """Two names for one value are one member."""
    members = "class Phase(Enum):\n    TRAIN = 1\n    FIT = 1\n    VAL = 2\n"
    assert told(members, "phase == Phase.TRAIN", train="Phase.FIT") == []


def test_texts():
    assert told("", 'phase in ("train", "fit")', '"train"', '"val"') == []
    assert told("", 'phase in ("train", "fit")', '"train"', '"val"', 'run("test")\n') == [202]


def test_what_is_asked_tells_the_calls_apart():
    """Of a condition that is not understood it is taken that it holds where a call of the function has a graph."""
    assert told("", "phases.of(phase).trains", '"train"', '"val"') == []
