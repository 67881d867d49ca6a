"""Batches that a training loop reads from files by the number of its turn: `np.load(f"train_{i}.npy")`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.tree import walk

# What reads samples. What `torch.load` reads may be a model.
_READS = re.compile(r"(?:Image\.open|(?:\w+\.)?imread|(?:np|numpy)\.(?:load|loadtxt|genfromtxt)|(?:\w+\.)?loadmat|(?:pd|pandas)\.read_\w+)$")
_A_MODEL = re.compile(r"model|weight|ckpt|checkpoint|param|state|fold|epoch|client|task", re.IGNORECASE)


def read_by_number(parsed: Parsed, node: cst.CSTNode, number: str) -> str | None:
    """What is read in the body of a loop or a function from a file that a number names, `np.load` of `np.load("x%d.npy" % i)`, also where
    names in between are made of the number."""
    names = {number}
    for target, value in _bound(node.body):
        if names & _names(value) and not _asks_a_list(value):
            names |= _names(target)
    for found in walk(node.body):
        if isinstance(found, cst.Call) and found.args and _READS.match(parsed.text(found.func)):
            path = found.args[0].value
            if names & _names(path) and not _asks_a_list(path) and not _A_MODEL.search(parsed.text(path)):
                return parsed.text(found.func)
    return None


def _bound(body: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """What a body gives something, in the order of its lines, and what it gives."""
    for made in walk(body):
        if isinstance(made, cst.Assign):
            for target in made.targets:
                if isinstance(target.target, cst.Name):
                    yield target.target, made.value
        elif isinstance(made, cst.For) or isinstance(made, cst.CompFor):
            yield made.target, made.iter


def _asks_a_list(node: cst.CSTNode) -> bool:
    """Whether an element of something is asked for: a list of names may be in any order."""
    return any(isinstance(each, cst.Subscript) for each in walk(node))


def _names(node: cst.CSTNode) -> set[str]:
    return {name.value for name in walk(node) if isinstance(name, cst.Name)}
