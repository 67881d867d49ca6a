"""Explains torch's own errors: what they are about, which operands were there, where these were made, what mends it.

The error itself stays as it is, with a note (`add_note`); before Python 3.11 the note is printed.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from torchsan.errors import devices, inplace, loader_errors, out_of_range
from torchsan.errors.operands import Frame, Operand, at_error, describe, frames, layer_of
from torchsan.program.where import _OURS, _USER, Where
from torchsan.report import printing, wording
from torchsan.report.deliver import say
from torchsan.report.mends import MENDS

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
    (rf"Found dtype {_INTEGERS} but expected (Float|Double|Half|BFloat16)", 306),
    (r"result type Float can't be cast to the desired output type (Long|Int|Byte)", 306),
    (r"Target -?\d+ is out of bounds", 307),
    (r"Expected input batch_size \(\d+\) to match target batch_size", 308),
    (r"Using a target size \(.*\) that is different to the input size", 308),
    (r"Target size \(.*\) must be the same as input size", 308),
    (r"more than one element of the written-to tensor refers to a single memory location", 414),
    (r"einsum\(\): ", 428),
    (r"embed_dim must be divisible by num_heads", 511),
    (r"Expected more than 1 value per channel when training", 518),
    (r"Need attn_mask if specifying the is_causal hint", 520),
    (r"Duplicate GPU detected", 804),
    (r"Expected to have finished reduction in the prior iteration", 809),
    (r"does not have a deterministic implementation, but you set 'torch\.use_deterministic_algorithms\(True\)'", 934),
    (r"shapes cannot be multiplied", 508),
    (r"The size of tensor a \(\d+\) must match the size of tensor b", 508),
    (r"Sizes of tensors must match except in dimension", 508),
    (r"stack expects each tensor to be equal size", 508),  # 615 where samples are put together
    (r"each element in list of batch should be of equal size", 615),
    (r"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found", "collate"),
    (r"Cannot re-initialize CUDA in forked subprocess", 607),
    (r"sampler option is mutually exclusive with (shuffle|batch_size)", 608),
    (r"DataLoader with IterableDataset: expected unspecified \w+ option", 608),
    (r"batch_size=None option disables auto-batching and is mutually exclusive", 608),
    (r"prefetch_factor option could only be specified in multiprocessing", 612),
    (r"persistent_workers option needs num_workers > 0", 612),
    (r"multiprocessing_context can only be used with multi-process loading", 612),
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
_CLASS_LOSSES = ("cross_entropy", "nll_loss")
_LOADERS = (607, 608, 612, 615, "collate")  # errors of a DataLoader, whose samples are in no variable of the line's
_SAID = (107, 108, 416, 607)  # of these, torch says no more than the pitfall's own words
_OTHER_CALL = (804, 934)  # whose page speaks of another call than the one that failed
_ROLES = {"value", "name", "call"}  # that an error can fill
# Kinds whose operand has a dtype that does not fit: which one that is.
_UNFIT: dict[int | str, Callable[[torch.dtype], bool]] = {
    409: lambda dtype: not dtype.is_floating_point and not dtype.is_complex,
    410: lambda dtype: dtype is torch.float64,
    411: lambda dtype: dtype is not torch.int64,
}
_LONG = 160  # of torch's words, a finding repeats so much
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
    error: str = ""  # torch's own words, the first line of them

    @property
    def says(self) -> str:
        """What is known beside the pitfall's own words: facts, or what torch says."""
        return "; ".join(self.facts) or ("" if self.number in _SAID else self.error[:_LONG])


def kind_of_error(error: BaseException) -> int | str | None:
    """The pitfall that an exception of torch's is about, if its message tells."""
    if not isinstance(error, (RuntimeError, IndexError, ValueError, TypeError, AssertionError)):
        return None
    text = str(error)
    return next((number for pattern, number in _COMPILED if pattern.search(text)), None)


def explain(error: BaseException, watch: Any = None) -> Explanation | None:
    """What is known of an exception that left the watch; None where it is none of torch's that we know."""
    kind = kind_of_error(error)
    if kind is None:
        return None
    way = frames(error.__traceback__)
    if kind == 508 and loader_errors.while_collating(str(error), way):
        kind = 615
    # Errors of the user's own that sound alike have no frame of torch's and no tensor near them.
    at = next((one for one in reversed(way) if one.kind == _USER), None)
    operands = [] if kind in _LOADERS else at_error(way)
    if kind == 108 and _was_cut(watch):
        kind = 117
    number = kind if isinstance(kind, int) else None
    name, summary, mend = MENDS[kind]
    if number is not None:
        page = wording.rule(number, summary, watch.pages if watch is not None else {})
        name = page.name
        asked = wording.fields(page.help)
        if page.help and asked <= _ROLES and (asked or "{value}" not in mend):  # ours may name what the page's cannot
            mend = page.help
    offender, facts = _blamed(kind, str(error), way, operands, watch)
    related = [(offender.made, f"`{offender.name}` was made here")] if offender and offender.made else []
    if kind == 115:
        offender = None
        related = inplace.find(error, way, watch)
    if kind == 107:
        related += _freed_by(watch)
    if kind in _LOADERS and (inside := loader_errors.line_of_worker(str(error))) is not None:
        related.append((inside, "the line of the worker process"))
    return Explanation(
        number, name, summary, mend, at.where if at else None, layer_of(way), operands, offender, related,
        facts, str(error).strip().split("\n", 1)[0],
    )


def _was_cut(watch: Any) -> bool:
    """Whether a model that is trained ran with gradients on since the last backward and step."""
    forward = watch.ledger.last_forward if watch is not None else None
    if forward is None or forward.subject is None:
        return False
    trained = watch.ledger.of(forward.subject.parameters())
    since = [max(account.number("backward"), account.number("step")) for account in trained]
    return bool(since) and forward.number > max(since)


def _freed_by(watch: Any) -> list[tuple[Where, str]]:
    """The backward before the one that failed."""
    events = [account.last["backward"] for account in watch.ledger if "backward" in account.last] if watch else []
    last = max(events, key=lambda event: event.number, default=None)
    place = None if last is None else last.where()
    return [] if place is None else [(place, "the backward before it")]


def _blamed(
    kind: int | str, text: str, way: list[Frame], operands: list[Operand], watch: Any
) -> tuple[Operand | None, list[str]]:
    """The operand that does not fit, where it can be told, and what is known of it in words."""
    if kind == 401:
        return devices.apart(way, operands, watch)
    if kind == "range":
        outside = out_of_range.find(text, way, operands)
        return (None, []) if outside is None else (outside.index, [outside.fact()])
    offender = _offender(kind, operands, way)
    return offender, _facts(kind, text, way, offender)


def _facts(kind: int | str, text: str, way: list[Frame], offender: Operand | None) -> list[str]:
    """What the message says in numbers, said in words."""
    if kind == 809:
        return _unused(text, way)
    if kind == 511:
        return _heads(way)
    if kind == 615:
        return loader_errors.ragged(text, way)
    if kind == 307:
        wrong = re.search(r"Target (-?\d+)", text)
        losses = [one.frame for one in way if one.frame.f_code.co_name in _CLASS_LOSSES]
        scores = losses[0].f_locals.get("input") if losses else None
        if wrong and isinstance(scores, torch.Tensor) and scores.dim():
            classes = scores.shape[0 if scores.dim() == 1 else 1]
            return [f"there is no class {wrong[1]} among {classes}: they count from 0 to {classes - 1}"]
    if kind == 406 and offender is not None and f"{offender.name}.view(" in _line(way):
        return [f"`{offender.name}` has strides {tuple(offender.value.stride())}"]
    if kind in (306, 409, 410, 411) and offender is not None:
        return [f"`{offender.name}` is {str(offender.value.dtype).removeprefix('torch.')}"]
    sizes = re.search(r"shapes cannot be multiplied \(\d+x(\d+) and (\d+)x", text)
    if sizes and any(isinstance(one.frame.f_locals.get("self"), torch.nn.Linear) for one in way):
        return [f"the last dimension of the input is {sizes[1]}, and the layer takes {sizes[2]}"]
    told = next((tell(match) for pattern, tell in _NUMBERS if (match := re.search(pattern, text))), None)
    return [] if told is None else [told]


def _line(way: list[Frame]) -> str:
    """The user's line that the error passed last."""
    at = next((one.where for one in reversed(way) if one.kind == _USER), None)
    return "" if at is None else printing.source_line(at.location()) or ""


def _heads(way: list[Frame]) -> list[str]:
    """The numbers that do not divide, from the attention layer that was being built."""
    for one in way:
        width, heads = one.frame.f_locals.get("embed_dim"), one.frame.f_locals.get("num_heads")
        if isinstance(width, int) and isinstance(heads, int) and heads and width % heads:
            return [f"{width} = {heads} x {width // heads} + {width % heads}"]
    return []


def _size(match: re.Match[str]) -> str:
    size, unit = float(match[1]), 0
    while size >= 1024 and unit < 5:
        size, unit = size / 1024, unit + 1
    return f"{size:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]} were asked for"


def _channels(match: re.Match[str]) -> str:
    wanted = int(match[2])
    sizes = [int(size) for size in match[1].split(",")]
    places = [str(at) for at, size in enumerate(sizes) if size == wanted and at != 1]
    return f"dimension 1 is the channels: the layer takes {wanted}, the input has {match[3]}" + (
        f"; dimension {' or '.join(places)} of the input has {wanted}" if places else ""
    )


_NUMBERS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (
        r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
        lambda m: f"the last dimension of the left one is {m[2]}, and the first of the right one is {m[3]}",
    ),
    (r"expected input\[([\d, ]+)\] to have (\d+) channels, but got (\d+)", _channels),
    (
        r"must match the existing size|The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at "
        r"non-singleton dimension (\d+)",
        lambda m: f"dimension {m[3]} is {m[1]} in one and {m[2]} in the other; only a 1 would stretch" if m[1] else "",
    ),
    (
        r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)",
        lambda m: f"cat along dimension {m[1]} wants all other sizes equal: one is {m[2]}, the other {m[3]}",
    ),
    (
        r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)",
        lambda m: f"the output has {m[1]} rows, the target {m[2]}",
    ),
    (
        r"shape '\[(.*)\]' is invalid for input of size (\d+)",
        lambda m: f"{m[2]} values cannot be laid out as [{m[1]}]",
    ),
    (
        r"Target size \(torch\.Size\((.*?)\)\) must be the same as input size \(torch\.Size\((.*?)\)\)",
        lambda m: f"the output is {m[2]}, the target {m[1]}",
    ),
    (r"you tried to allocate (\d+) bytes", _size),
    (r"Tried to allocate ([\d.]+ \w+)", lambda m: f"{m[1]} were asked for"),
    (r"modified by an inplace operation: \[(\S+) \[([\d, ]*)\]\]", lambda m: f"a tensor of shape [{m[2]}]"),
)


def _unused(text: str, way: list[Frame]) -> list[str]:
    unused = re.search(r"did not receive grad for rank \d+: ([\d ]+)", text)
    for one in way if unused else ():
        wrapper = one.frame.f_locals.get("self")
        if isinstance(wrapper, torch.nn.parallel.DistributedDataParallel):
            names = [name for name, p in wrapper.module.named_parameters() if p.requires_grad]
            found = [names[index] for index in map(int, unused[1].split()) if index < len(names)]
            return [f"no gradient for {', '.join(found[:8])}{' ...' if len(found) > 8 else ''}"]
    return []


def _offender(kind: int | str, operands: list[Operand], way: list[Frame]) -> Operand | None:
    """The operand that does not fit, where it can be told."""
    if not operands:
        return None
    plain = [one for one in operands if not isinstance(one.value, torch.nn.Parameter)] or operands
    if kind in (306, 307):
        held = [one.frame.f_locals.get("target") for one in way if one.frame.f_code.co_filename == F.__file__]
        target = next((value for value in held if isinstance(value, torch.Tensor)), None)
        return next((one for one in plain if one.value is target), None)  # in backward there is none
    if kind in _UNFIT:
        unfit = [one for one in plain if _UNFIT[kind](one.value.dtype)]
        given = next((one for one in unfit if one.value is _input(way)), None)
        if given is None and kind == 411 and len(unfit) == 2:
            return unfit[1]  # what is indexed stands first, and may have any dtype
        return unfit[0] if given is None and len(unfit) == 1 else given
    return plain[0]


def _input(way: list[Frame]) -> Any:
    """What torch's own function that failed was given as its input."""
    below = itertools.takewhile(lambda one: one.kind == _OURS, reversed(way))
    return next((one.frame.f_locals["input"] for one in below if "input" in one.frame.f_locals), None)


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
        elif one.maker is not None:
            rows.append(("", f"made by {one.maker}"))
    rows.extend((f"{'and' if at else 'where'}", f"{_place(where)}: {why}") for at, (where, why) in enumerate(
        (where, why) for where, why in told.related if told.offender is None or where != told.offender.made
    ))
    rows.append(("mend", wording.fill(mend_of(told), roles(told))))
    if told.number is not None and wording.rules().find(told.number) is not None:
        rows.append(("see", f"torchlint explain TL{told.number}"))
    width = min(24, max(len(label) for label, _ in rows))
    lines.extend(f"  {label:<{width}}  {text}" for label, text in rows)
    return "\n".join(lines)


def mend_of(told: Explanation) -> str:
    """The mend, with fields for `roles`: the page's, where all is known that it speaks of, or else our own."""
    asked = wording.fields(told.mend)
    return told.mend if told.number not in MENDS or asked <= roles(told).keys() else MENDS[told.number][2]


def roles(told: Explanation) -> dict[str, Any]:
    """What fills the fields of a page's words: the offending value, and the call that failed."""
    filled: dict[str, Any] = {}
    if told.offender is not None:
        filled["value"] = filled["name"] = told.offender.name.split(" of ")[0]
    elif told.number == 306:
        filled["value"] = filled["name"] = "target"
    if told.number == 115 and told.related:
        name = inplace.target(told.related[0][0])
        if name is not None:
            filled["value"] = filled["name"] = name
    call = printing.code_at(told.where)
    if call and told.number not in _OTHER_CALL:
        filled["call"] = call
    return filled


def _place(where: Where) -> str:
    location = where.location()
    line = printing.source_line(location)
    path = os.path.relpath(location.filename) if os.path.exists(location.filename) else location.filename
    path = printing.cell_of(location.filename) or (location.filename if path.startswith("..") else path)
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
