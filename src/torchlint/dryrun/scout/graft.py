"""Makes a scout's tree whole: what libcst has parsed of the same text is put into its nodes, which stay the objects that values
and events know. From then on it is a tree of libcst's like any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache

import libcst as cst

from torchlint.dryrun.tree import LAYOUT


class Unlike(Exception):
    """What the scout has seen is not what libcst reads."""


# What nobody keeps hold of is taken as libcst has it; of two that differ in kind, the scout has seen something else.
_TAKEN = (
    cst.BaseUnaryOp, cst.BaseBinaryOp, cst.BaseBooleanOp, cst.BaseCompOp, cst.BaseAugOp, cst.ParamStar, cst.ImportStar,
)

_NOT_MADE = ("posonly_ind", "type_parameters")  # nothing asks for these


def graft(light: cst.Module, whole: cst.Module) -> None:
    """Puts the nodes of a scout's tree in place of those of a tree that libcst has parsed.

    Raises:
        Unlike: the two do not say the same. The scout's tree is of no use any more.
    """
    _same_length(light.body, whole.body)
    todo = list(zip(light.body, whole.body))
    cst.Module.body.__set__(whole, light.body)
    while todo:
        mine, theirs = todo.pop()
        if type(mine) is not type(theirs):
            raise Unlike
        if type(theirs) in (cst.ConcatenatedString, cst.FormattedString):
            todo += _strings(mine, theirs)
            continue
        layout, said = _fields_of(type(theirs))
        for name, put in layout:
            value = getattr(theirs, name)
            if name in ("lpar", "star", "relative") and not _alike(mine, name, value):
                raise Unlike
            put(mine, value)
        for name, put in said:
            value, own = getattr(theirs, name), getattr(mine, name, None)
            if name in _NOT_MADE:
                put(mine, value)
            elif isinstance(value, _TAKEN):
                if type(own) is not type(value):
                    raise Unlike
                put(mine, value)
            elif isinstance(value, cst.CSTNode):
                todo.append((own, value))
            elif isinstance(value, (list, tuple)):
                _same_length(own, value)
                todo.extend(zip(own, value))
            elif own != value:
                raise Unlike


@lru_cache(maxsize=None)
def _fields_of(kind: type[cst.CSTNode]) -> tuple[list, list]:
    """The fields that say nothing of the program, and the others; of each its name and what sets it."""
    every = [(field.name, getattr(kind, field.name).__set__) for field in fields(kind)]
    layout = [item for item in every if item[0] in LAYOUT or "whitespace" in item[0]]
    return layout, [item for item in every if item not in layout]


def _same_length(mine: list | tuple, theirs: list | tuple) -> None:
    if not isinstance(mine, (list, tuple)) or len(mine) != len(theirs):
        raise Unlike


def _alike(mine: cst.CSTNode, name: str, value: object) -> bool:
    if name == "lpar":
        return not isinstance(mine, cst.BaseExpression) or bool(mine.lpar) == bool(value)
    if name == "star":
        return type(mine) is not cst.Arg or mine.star == value
    return len(mine.relative) == len(value)


def _strings(mine: cst.BaseString, theirs: cst.BaseString) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """Of a string with expressions in it, or of several side by side, the scout knows only these, and their order."""
    own, other = list(_expressions(mine)), list(_expressions(theirs))
    _same_length(own, other)
    if bool(mine.lpar) != bool(theirs.lpar):
        raise Unlike
    for part, whole in zip(own, other):
        yield part.expression, whole.expression
        cst.FormattedStringExpression.expression.__set__(whole, part.expression)
    for name, put in [item for part in _fields_of(type(theirs)) for item in part]:
        put(mine, getattr(theirs, name))


def _expressions(string: cst.BaseString) -> Iterator[cst.FormattedStringExpression]:
    """The expressions directly in a string, or in strings that stand side by side, and in their formats."""
    todo: list[cst.CSTNode] = [string]
    while todo:
        item = todo.pop()
        if type(item) is cst.ConcatenatedString:
            todo += (item.right, item.left)
        elif type(item) is cst.FormattedString:
            todo += reversed(item.parts)
        elif type(item) is cst.FormattedStringExpression:
            yield item
            todo += reversed(item.format_spec or ())
