"""What the tests of the dry run share: snippets that say in marks (`# <- 301`) what must be found in them."""

import re
from functools import lru_cache
from pathlib import Path

import pytest

from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue
from torchlint.dryrun.roots import runs_of
from torchlint.dryrun.world import World
from torchlint.engine import Engine
from torchlint.rules import watched_calls

ROOT = Path(__file__).parents[3]
RULES = tuple(rule for rule in catalogue() if rule.group in DEFAULT_GROUPS)
MARK = re.compile(r"#\s*<-\s*(\d{3}(?:\s*,\s*\d{3})*)\s*$")
IMPORTS = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


@lru_cache(maxsize=None)
def engine(sieve=True):
    """One engine for many snippets, as in a run over many files."""
    return Engine(RULES, sieve=sieve)


def found(text, filename="snippet.py", judge=None):
    """The (row, number) of every finding in a text."""
    return sorted((f.location.row, f.number) for f in (judge or engine()).check(str(filename), text).findings)


def marked(text):
    """The (row, number) of every mark in a text."""
    marks = []
    for row, line in enumerate(text.split("\n"), 1):
        if match := MARK.search(line):
            marks.extend((row, int(number)) for number in match[1].split(","))
    return sorted(marks)


def table(cases):
    """Runs a test once for each of {name: snippet}."""
    return pytest.mark.parametrize("code", list(cases.values()), ids=list(cases))


def holds(code):
    """What is found in a snippet, after the usual imports, is what its marks say."""
    text = IMPORTS + code
    compile(text, "snippet.py", "exec")
    assert found(text) == marked(text)


def runs(text, path="snippet.py"):
    """The dry runs of a text."""
    world = World()
    return list(runs_of(world, world.add(str(path), IMPORTS + text), watched_calls(RULES)))


def events(run, *kinds):
    """The events of a run of some kinds; all, but for joins of paths, if none is named."""
    return [event for event in run.graph.events if (event.kind in kinds if kinds else event.kind != "join")]


def kinds(run):
    return [event.kind for event in events(run)]
