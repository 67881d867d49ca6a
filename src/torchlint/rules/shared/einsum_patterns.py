"""What is wrong with the pattern of an einsum or of einops, whatever the operands; and with operands of known sizes.

The grammars are those of torch.einsum and of einops 0.8; `tests/facts/test_patterns.py` asks both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchlint.dryrun.torch_api.shapes import Shape

_TOKEN = re.compile(r"\s*(\.\.\.|…|[()]|\w+|\S)")


class Term(NamedTuple):
    """The axes of one operand: a name for each dimension, "..." for any number; `groups` are the composed ones."""

    axes: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...] = ()


# -- torch.einsum --------------------------------------------------------------------------------------------------


def einsum_problem(pattern: str, operands: Sequence[Shape] | None) -> str | None:
    """What is wrong with the equation of torch.einsum; `operands` where they were given one by one."""
    left, _, right = (part.replace(" ", "") for part in pattern.partition("->"))
    for part in (left, right):
        text = part.replace("...", "")
        if "." in text:
            return "a dot belongs to an ellipsis, `...`"
        strange = re.search(r"[^A-Za-z,]" if part is left else r"[^A-Za-z]", text)
        if strange:
            return f"`{strange[0]}` is no subscript: they are letters"
    terms = left.split(",")
    if any(term.count("...") > 1 for term in (*terms, right)):
        return "one operand has two ellipses"
    inside = set(left) - {",", "."}
    for letter in right.replace("...", ""):
        if letter not in inside:
            return f"`{letter}` stands in the output, but in no operand"
        if right.count(letter) > 1:
            return f"`{letter}` stands twice in the output"
    if operands is None:
        return None
    if len(operands) != len(terms):
        return _miscounted(len(terms), "operand", len(operands))
    return _fits([tuple(re.findall(r"\.\.\.|\w", term)) for term in terms], operands)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _miscounted(named: int, what: str, given: int) -> str:
    return f"it speaks of {_count(named, what)}, but {given} {'is' if given == 1 else 'are'} given"


def _fits(terms: Sequence[tuple[str, ...]], operands: Sequence[Shape]) -> str | None:
    """Whether known sizes contradict the axes: too many or too few dimensions, one name for two sizes."""
    sizes: dict[str, int] = {}
    for at, (axes, shape) in enumerate(zip(terms, operands), 1):
        which = f"operand {at}" if len(terms) > 1 else "the operand"
        wrong = _rank_problem(axes, shape, which)
        if wrong:
            return wrong
        if shape.rank is None or "..." in axes:
            continue
        for name, size in zip(axes, shape.dims):
            if not isinstance(size, int) or size == 1 or name in ("1", "()"):
                continue
            if sizes.setdefault(name, size) != size:
                return f"`{name}` is {sizes[name]} in one place and {size} in {which}"
    return None


def _rank_problem(axes: tuple[str, ...], shape: Shape, which: str) -> str | None:
    named = len([axis for axis in axes if axis != "..."])
    if "..." in axes:
        if shape.rank is not None and shape.rank < named:
            return f"it names {_count(named, 'dimension')} of {which}, which has {shape.rank}"
    elif shape.rank is not None and shape.rank != named or len(shape.dims) > named:
        more = "" if shape.rank is not None else " or more"
        return f"it names {_count(named, 'dimension')} of {which}, which has {len(shape.dims)}{more}"
    return None


# -- einops --------------------------------------------------------------------------------------------------------


def einops_problem(
    function: str, pattern: str, lengths: Sequence[str] | None, operands: Sequence[Shape] | None
) -> str | None:
    """What is wrong with a pattern of einops.

    Args:
        function: "rearrange", "reduce", "repeat" or "einsum".
        lengths: the axes whose lengths are given; None where that cannot be told.
        operands: what is known of the tensors; None where they are not given one by one.
    """
    if pattern.count("->") != 1:
        return "it needs one `->`"
    before, _, after = pattern.partition("->")
    lefts = before.split(",") if function == "einsum" else [before]
    read = [_term(side) for side in (*lefts, after)]
    for side in read:
        if isinstance(side, str):
            return side
    *terms, out = read
    left, right = {axis for term in terms for axis in _flat(term)}, set(_flat(out))
    if function != "einsum" and any("..." in group for group in terms[0].groups):
        return "an ellipsis in parentheses can only stand on the right"
    for term in (*terms, out) if function != "einsum" else (out,):
        twice = next((axis for axis in _flat(term) if not axis.isdigit() and _flat(term).count(axis) > 1), None)
        if twice:
            return f"`{twice}` stands twice on one side"
    numbers = [axis for axis in left | right if axis.isdigit() and axis != "1"]
    if numbers and function == "rearrange":
        return f"`{numbers[0]}` is a length without a name, which `rearrange` does not take"
    left, right = ({axis for axis in side if not axis.isdigit()} for side in (left, right))
    wrong = _sides(function, left, right, lengths) or _lengths(function, terms, left | right, lengths)
    if wrong or operands is None:
        return wrong
    if len(operands) != len(terms):
        return _miscounted(len(terms), "tensor", len(operands))
    return _fits([term.axes for term in terms], operands)


def _term(text: str) -> Term | str:
    """One side of a pattern, or what is wrong with it."""
    axes: list[str] = []
    groups: list[tuple[str, ...]] = []
    group: list[str] | None = None
    for token in _TOKEN.findall(text):
        token = "..." if token == "…" else token
        if token == "(":
            if group is not None:
                return "parentheses stand in parentheses"
            group = []
        elif token == ")":
            if group is None:
                return "a `)` has no `(`"
            groups.append(tuple(group))
            axes.append("()")
            group = None
        elif (
            token != "..."
            and not token.isdigit()
            and (not token.isidentifier() or token[0] == "_" or token[-1] == "_")
        ):
            return f"`{token}` is no name of an axis"
        else:
            (axes if group is None else group).append(token)
    if group is not None:
        return "a `(` has no `)`"
    return Term(tuple(axes), tuple(groups))


def _flat(term: Term) -> list[str]:
    return [axis for axis in term.axes if axis != "()"] + [axis for group in term.groups for axis in group]


def _sides(function: str, left: set[str], right: set[str], lengths: Sequence[str] | None) -> str | None:
    """What stands on one side and has to stand on both, or to be told."""
    lost, new = sorted(left - right), sorted(right - left)
    if new and function in ("rearrange", "reduce", "einsum") or "..." in new:
        return f"`{new[0]}` stands on the right only"
    if lost and function in ("rearrange", "repeat"):
        return f"`{lost[0]}` stands on the left only"
    if new and function == "repeat" and lengths is not None and set(new) - set(lengths):
        missing = sorted(set(new) - set(lengths))[0]
        return f"nothing says how often to repeat: the length of `{missing}` is not given"
    return None


def _lengths(function: str, terms: Sequence[Term], names: set[str], lengths: Sequence[str] | None) -> str | None:
    """Lengths of axes that are nowhere, and composed axes of which more than one length is open."""
    if lengths is None or function == "einsum":
        return None
    strange = [name for name in lengths if name not in names]
    if strange:
        return f"`{strange[0]}` is given a length, but is no axis of the pattern"
    for group in terms[0].groups:
        unknown = [axis for axis in group if not axis.isdigit() and axis not in lengths]
        if len(unknown) > 1:
            names = " or ".join(f"`{axis}`" for axis in unknown)
            return f"({' '.join(group)}) cannot be split: give the length of {names}"
    return None
