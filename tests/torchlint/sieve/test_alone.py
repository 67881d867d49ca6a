"""What a rule says does not depend on which others are asked for: alone it finds what it finds among all."""

import random
from functools import lru_cache
from pathlib import Path

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine

RULES = {rule.code: rule for rule in catalogue()}
FIXTURES = Path(__file__).parents[3] / "fixtures" / "lint"
SEED, HOW_MANY = 16, 150
NOT_YET = {425, 509}  # where a loader comes out of a function that __init__ calls; where layers are in what a class is derived from


@lru_cache(maxsize=None)
def engine(code=None):
    return Engine(tuple(RULES.values()) if code is None else (RULES[code],))


def differ(path, text):
    """The rules that find something else alone than among all, of those that find anything in a file."""
    found = [f for f in engine().check(str(path), text).findings if f.location.filename == str(path)]
    return {
        code for code in {f.number for f in found} - NOT_YET
        if [f for f in found if f.number == code] != [f for f in engine(code).check(str(path), text).findings if f.location.filename == str(path)]
    }


@pytest.mark.parametrize("project", sorted(path.name for path in FIXTURES.glob("*_broken")))
def test_projects(project):
    for path in sorted((FIXTURES / project).rglob("*.py")):
        assert not differ(path, path.read_text(encoding="utf-8")), path


def test_pages():
    blocks = [block.code for rule in RULES.values() for block in rule.examples() if block.good or block.bad]
    for number, text in enumerate(random.Random(SEED).sample(blocks, HOW_MANY)):
        assert not differ(f"{number}.py", text), text


def test_an_attribute_that_a_class_brings():
    """Which classes a module has parameters from, the rule is told where it is asked alone, too."""
    text = """
import torch
from torch import nn

class Map(nn.Module):
    def __init__(self):
        super().__init__()
        self.zero = torch.zeros([1])

    def forward(self, x):
        return torch.max(x, self.zero)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.map, self.last = Map(), nn.Linear(4, 2)

    def forward(self, x):
        return self.last(self.map(x))
"""
    assert [f.location.row for f in engine(502).check("net.py", text).findings] == [8]


def test_what_is_worked_out_in_the_forward_of_a_class():
    text = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 2)

    def forward(self, x):
        return torch.softmax(self.last(x), dim=1)

def loss_of(out, y):
    return -torch.log(out.gather(1, y.view(-1, 1))).mean()

def train(net, batches):
    for x, y in batches:
        loss_of(net(x), y).backward()

train(Net(), [])
"""
    assert {f.number for f in engine(305).check("net.py", text).findings} == {305}
