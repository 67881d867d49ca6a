"""Which family an error of torch's belongs to: the first whose words it has."""

from __future__ import annotations

import ast
import pickle
from functools import lru_cache
from typing import NamedTuple

from torchsan.errors.families import (
    arguments,
    data,
    devices,
    distributed,
    dtypes,
    gradients,
    indexing,
    layers,
    losses,
    modules,
    optimizers,
    shapes,
    state,
    values,
)
from torchsan.errors.family import Family
from torchsan.errors.operands import Frame
from torchsan.own import re
from torchsan.program.source import tree_of
from torchsan.program.where import _OURS, _USER

# What says more comes first: a loss that fails by its shapes before shapes, a recurrent layer's index before indices.
SUBJECTS = {
    "losses": losses.FAMILIES,
    "backward": gradients.FAMILIES,
    "layers": layers.FAMILIES,
    "optimizers": optimizers.FAMILIES,
    "saving and loading": state.FAMILIES,
    "data": data.FAMILIES,
    "processes": distributed.FAMILIES,
    "devices": devices.FAMILIES,
    "types": dtypes.FAMILIES,
    "shapes": shapes.FAMILIES,
    "indices": indexing.FAMILIES,
    "modules": modules.FAMILIES,
    "values": values.FAMILIES,
    "arguments": arguments.FAMILIES,
}
FAMILIES: tuple[Family, ...] = tuple(family for families in SUBJECTS.values() for family in families)
_KINDS = (
    RuntimeError, IndexError, ValueError, TypeError, AssertionError, AttributeError, KeyError, EOFError, ZeroDivisionError,
    pickle.PickleError,
)


class Known(NamedTuple):
    """A family, and what of an error's message its words matched."""

    family: Family
    match: re.Match[str]


def family_of(error: BaseException, way: list[Frame]) -> Known | None:
    """The family of an error that took this way; None where it is none of torch's that we know."""
    if not isinstance(error, _KINDS):
        return None
    text = str(error)
    passed = _passed(way)
    own = _raised_by_user(way)
    for family, words, inside in _compiled():
        if own and family.number is None:
            continue
        if family.kinds and not isinstance(error, family.kinds):
            continue
        if inside is not None and not any(inside.search(one) for one in passed):
            continue
        match = words.search(text)
        if match is not None and (family.fits is None or family.fits(way)):
            return Known(family, match)
    return None


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[Family, re.Pattern[str], re.Pattern[str] | None], ...]:
    return tuple(
        (family, re.compile(family.words, re.DOTALL), re.compile(family.inside) if family.inside else None)
        for family in FAMILIES
    )


def _passed(way: list[Frame]) -> list[str]:
    """torch's functions below the user's last line: "torch/nn/functional.py:cross_entropy"."""
    found = []
    for one in reversed(way):
        if one.kind == _USER:
            break
        if one.kind == _OURS:
            found.append(f"{one.frame.f_code.co_filename.replace(chr(92), '/')}:{one.frame.f_code.co_name}")
    return found


def _raised_by_user(way: list[Frame]) -> bool:
    """Whether the user's own `raise` or `assert` made the error: it may sound like torch's."""
    if not way or way[-1].kind != _USER:
        return False
    tree = tree_of(way[-1].frame.f_code.co_filename)
    statement = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.stmt) and node.lineno <= way[-1].line <= (node.end_lineno or node.lineno):
            statement = node
    return isinstance(statement, ast.Raise)
