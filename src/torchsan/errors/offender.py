"""Which operand an error of a numbered pitfall is about, and what is known of it, where its family does not tell."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from torchsan.errors.operands import Frame, Operand
from torchsan.own import F, torch
from torchsan.program.where import _OURS, _USER
from torchsan.report import printing

# Pitfalls whose operand has a dtype that does not fit: which one that is.
_UNFIT: dict[int, Callable[[torch.dtype], bool]] = {
    409: lambda dtype: not dtype.is_floating_point and not dtype.is_complex,
    410: lambda dtype: dtype is torch.float64,
    411: lambda dtype: dtype is not torch.int64,
}


def offender(number: int, operands: list[Operand], way: list[Frame]) -> Operand | None:
    """The operand that does not fit, where it can be told."""
    if not operands:
        return None
    plain = [one for one in operands if not isinstance(one.value, torch.nn.Parameter)] or operands
    if number in (306, 307):
        held = [one.frame.f_locals.get("target") for one in way if one.frame.f_code.co_filename == F.__file__]
        target = next((value for value in held if isinstance(value, torch.Tensor)), None)
        return next((one for one in plain if one.value is target), None)  # in backward there is none
    if number in _UNFIT:
        unfit = [one for one in plain if _UNFIT[number](one.value.dtype)]
        given = next((one for one in unfit if one.value is _input(way)), None)
        if given is None and number == 411 and len(unfit) == 2:
            return unfit[1]  # what is indexed stands first, and may have any dtype
        return unfit[0] if given is None and len(unfit) == 1 else given
    if number in (406, 428, 508) and len(plain) > 1:
        return None
    return plain[0]


def facts(number: int, way: list[Frame], found: Operand | None) -> list[str]:
    """What is known of that operand."""
    if found is None:
        return []
    if number == 406 and f"{found.name}.view(" in _line(way):
        return [f"`{found.name}` has strides {tuple(found.value.stride())}"]
    if number in (306, 409, 410, 411):
        return [f"`{found.name}` is {str(found.value.dtype).removeprefix('torch.')}"]
    return []


def _line(way: list[Frame]) -> str:
    """The user's line that the error passed last."""
    at = next((one.where for one in reversed(way) if one.kind == _USER), None)
    return "" if at is None else printing.source_line(at.location()) or ""


def _input(way: list[Frame]) -> Any:
    """What torch's own function that failed was given as its input."""
    below = itertools.takewhile(lambda one: one.kind == _OURS, reversed(way))
    return next((one.frame.f_locals["input"] for one in below if "input" in one.frame.f_locals), None)
