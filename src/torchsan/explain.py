"""Explains torch's own errors: what they are about, which operands were there, where these were made, what mends it.

The error itself stays as it is, with a note (`add_note`); before Python 3.11 the note is printed.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

import torch

from torchsan import inplace, telling, wording
from torchsan.deliver import say
from torchsan.mends import MENDS
from torchsan.operands import Frame, Operand, at_error, describe, frames, layer_of
from torchsan.where import _USER, Where

_MATRICES = "(mat1 and mat2|m1 and m2|self and mat2)"
_INTEGERS = "(Long|Int|Byte|Short|Char|Bool)"
# Message of torch (any release since 2.4 that words it so) to pitfall; the first that matches counts.
PATTERNS: tuple[tuple[str, int | str], ...] = (
    (r"view size is not compatible with input tensor's size and stride", 406),
    (r"Can't call numpy\(\) on Tensor that requires grad", 416),
    (r"can't convert \S+ device type tensor to numpy", 416),
    (r"Expected all tensors to be on the same device", 401),
    (r"Tensor on device \S+ is not on the expected device", 401),
    (r"Input type \(torch\.cuda\.\w+\) and weight type \(torch\.\w*(?<!cuda\.)\w+\) should be the same", 401),
    (r"Input type \(torch\.\w+\) and weight type \(torch\.cuda\.\w+\) should be the same", 401),
    (rf"{_MATRICES} (must|to) have the same dtype, but got:? {_INTEGERS}", 409),
    (r"expected m1 and m2 to have the same dtype, but got: (long|int|unsigned char|short|signed char|bool)", 409),
    (r"Input type \((torch\.)?(cuda\.)?(Long|Int|Byte|Short|long|int|unsigned char)\w*\) and (bias|weight) type", 409),
    (r"mixed dtype \(CPU\): (all inputs must share same datatype|expect parameter to have scalar type)", 410),
    (rf"{_MATRICES} (must|to) have the same dtype, but got:? (Double|double)", 410),
    (r"Input type \((torch\.)?(cuda\.)?[Dd]ouble\w*\) and (bias|weight) type", 410),
    (r"Found dtype Double but expected Float", 410),
    (r"Expected tensor for argument #1 'indices' to have one of the following scalar types", 411),
    (r"(gather|scatter\w*|index_select|index_add\w*|take)\(\): Expected dtype int\S* .*for index", 411),
    (r"gather\(\): Expected dtype int\S* for index", 411),
    (r"tensors used as indices must be long", 411),
    (r"Trying to backward through the graph a second time", 107),
    (r"element 0 of tensors does not require grad and does not have a grad_fn", 108),
    (r"a leaf Variable that requires grad is being used in an in-place operation", 114),
    (r"one of the variables needed for gradient computation has been modified by an inplace operation", 115),
    (r"Inference tensors cannot be saved for backward", 205),
    (r"expected scalar type Long but found|expected target dtype to be Long", 306),
    (r"result type Float can't be cast to the desired output type (Long|Int|Byte)", 306),
    (r"Target -?\d+ is out of bounds", 307),
    (r"Expected input batch_size \(\d+\) to match target batch_size", 308),
    (r"Using a target size \(.*\) that is different to the input size", 308),
    (r"more than one element of the written-to tensor refers to a single memory location", 414),
    (r"einsum\(\): ", 428),
    (r"Expected to have finished reduction in the prior iteration", 809),
    (r"shapes cannot be multiplied", 508),
    (r"The size of tensor a \(\d+\) must match the size of tensor b", 508),
    (r"Sizes of tensors must match except in dimension", 508),
    (r"stack expects each tensor to be equal size", 508),
    (r"Given groups=\d+, weight of size .* expected input", 508),
    (r"Expected .*input to conv\d?d?.*but got input of size", 508),
    (r"shape '\[.*\]' is invalid for input of size", 508),
    (r"size mismatch, got input", 508),
    (r"Expected size for first two dimensions of batch2 tensor", 508),
    (r"running_mean should contain \d+ elements not", 508),
    (r"Given normalized_shape=.*expected input with shape", 508),
    (r"input\.size\(-1\) must be equal to input_size", 508),
    (r"can't allocate memory|out of memory", "memory"),
    (r"index out of range in self|index -?\d+ is out of bounds for dimension", "range"),
)
_COMPILED = tuple((re.compile(pattern), number) for pattern, number in PATTERNS)


class Explanation(NamedTuple):
    """What is known of an error. `number` is None where no pitfall has this name yet."""

    number: int | None
    name: str
    summary: str
    mend: str
    where: Where | None
    layer: str | None
    operands: list[Operand]
    offender: Operand | None
    related: list[tuple[Where, str]]
    facts: list[str] = []


def kind_of_error(error: BaseException) -> int | str | None:
    """The pitfall that an exception of torch's is about, if its message tells."""
    if not isinstance(error, (RuntimeError, IndexError, ValueError, TypeError)):
        return None
    text = str(error)
    return next((number for pattern, number in _COMPILED if pattern.search(text)), None)


def explain(error: BaseException, watch: Any = None) -> Explanation | None:
    """What is known of an exception that left the watch; None where it is none of torch's that we know."""
    kind = kind_of_error(error)
    if kind is None:
        return None
    way = frames(error.__traceback__)
    # Errors of the user's own that sound alike have no frame of torch's and no tensor near them.
    at = next((one for one in reversed(way) if one.kind == _USER), None)
    operands = at_error(way)
    number = kind if isinstance(kind, int) else None
    name, summary, mend = MENDS[kind]
    if number is not None:
        page = wording.rule(number, summary, watch.pages if watch is not None else {})
        name, mend = page.name, page.help or mend
    offender = _offender(kind, operands)
    related = [(offender.made, f"`{offender.name}` was made here")] if offender and offender.made else []
    if kind == 115:
        related = inplace.find(error, way, watch) or related
    return Explanation(
        number, name, summary, mend, at.where if at else None, layer_of(way), operands, offender, related,
        _facts(kind, str(error), way),
    )


def _facts(kind: int | str, text: str, way: list[Frame]) -> list[str]:
    """What the message says in numbers, said in words."""
    sizes = re.search(r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", text)
    if sizes:
        return [f"the last dimension of the input is {sizes[2]}, and the weight takes {sizes[3]}"]
    unused = re.search(r"did not receive grad for rank \d+: ([\d ]+)", text)
    if kind == 809 and unused:
        for one in way:
            wrapper = one.frame.f_locals.get("self")
            if isinstance(wrapper, torch.nn.parallel.DistributedDataParallel):
                names = [name for name, p in wrapper.module.named_parameters() if p.requires_grad]
                found = [names[index] for index in map(int, unused[1].split()) if index < len(names)]
                return [f"no gradient for {', '.join(found[:8])}{' ...' if len(found) > 8 else ''}"]
    return []


def _offender(kind: int | str, operands: list[Operand]) -> Operand | None:
    """The operand that does not fit, where it can be told."""
    if not operands:
        return None
    plain = [one for one in operands if not isinstance(one.value, torch.nn.Parameter)] or operands
    if kind == 401:
        devices = [one.value.device for one in operands]
        held = {one.value.device for one in operands if one not in plain}
        odd = [one for one in plain if (one.value.device not in held if held else devices.count(one.value.device) == 1)]
        return (odd or plain)[-1 if not held else 0]
    if kind in (306, 307):
        return plain[-1]
    if kind in (409, 411, "range"):
        return next((one for one in plain if not one.value.is_floating_point()), plain[-1])
    if kind == 410:
        return next((one for one in plain if one.value.dtype is torch.float64), plain[0])
    return plain[0]


def note(told: Explanation) -> str:
    """The explanation as text, for the end of a traceback."""
    code = f"TS{told.number} " if told.number is not None else ""
    lines = [f"torchsan: {code}{told.name}: {told.summary}"]
    rows: list[tuple[str, str]] = []
    if told.where is not None:
        rows.append(("at", _place(told.where)))
    if told.layer is not None:
        rows.append(("in", told.layer))
    rows.extend(("what", fact) for fact in told.facts)
    for one in told.operands:
        rows.append((one.name, describe(one.value)))
        if one.made is not None:
            rows.append(("", f"made at {_place(one.made)}"))
    rows.extend((f"{'and' if at else 'where'}", f"{_place(where)}: {why}") for at, (where, why) in enumerate(
        (where, why) for where, why in told.related if told.offender is None or where != told.offender.made
    ))
    rows.append(("mend", wording.fill(told.mend, roles(told))))
    if told.number is not None and wording.rules().find(told.number) is not None:
        rows.append(("see", f"torchlint explain TL{told.number}"))
    width = min(24, max(len(label) for label, _ in rows))
    lines.extend(f"  {label:<{width}}  {text}" for label, text in rows)
    return "\n".join(lines)


def roles(told: Explanation) -> dict[str, Any]:
    """What fills the fields of a page's words: the offending value, and the call that failed."""
    filled: dict[str, Any] = {}
    if told.offender is not None:
        filled["value"] = filled["name"] = told.offender.name
    line = telling.source_line(told.where.location()) if told.where else None
    if told.where is not None and line:
        span = told.where.location()
        if span.end_column is not None and span.end_row in (None, span.row):
            filled["call"] = line[span.column - 1:span.end_column - 1]
        else:
            filled["call"] = line.strip()
    return filled


def _place(where: Where) -> str:
    location = where.location()
    line = telling.source_line(location)
    path = os.path.relpath(location.filename) if os.path.exists(location.filename) else location.filename
    path = location.filename if path.startswith("..") else path
    return f"{path}:{location.row}" + (f": {line.strip()}" if line else "")


def attach(error: BaseException, text: str) -> None:
    """Put a note on an exception, once however many watches it leaves; printed where Python knows no notes."""
    if getattr(error, "_torchsan_noted", False):
        return
    try:
        error._torchsan_noted = True  # type: ignore[attr-defined]
    except AttributeError:
        return
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        say(text.removeprefix("torchsan: "))
