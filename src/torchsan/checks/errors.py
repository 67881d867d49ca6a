"""torch's own errors that are pitfalls: 107 108 306 307 401 406 409 410 411 416 and others, told by their messages.

An exception that leaves the watch becomes a finding at the user's line; it passes on unchanged. What the operands were
and where they came from is told by `torchsan.explain`.
"""

from __future__ import annotations

import re

from torchsan.check import Check
from torchsan.events import Event

_MATRICES = "(mat1 and mat2|m1 and m2|self and mat2)"
# Message of torch (any release since 2.4 that words it so) to pitfall; the first that matches counts.
PATTERNS: tuple[tuple[str, int], ...] = (
    (r"view size is not compatible with input tensor's size and stride", 406),
    (r"Can't call numpy\(\) on Tensor that requires grad", 416),
    (r"can't convert \S+ device type tensor to numpy", 416),
    (r"Expected all tensors to be on the same device", 401),
    (r"Input type \(torch\.cuda\.\w+\) and weight type \(torch\.\w*(?<!cuda\.)\w+\) should be the same", 401),
    (r"Input type \(torch\.\w+\) and weight type \(torch\.cuda\.\w+\) should be the same", 401),
    (rf"{_MATRICES} (must|to) have the same dtype, but got:? (Long|Int|Byte|Short|Char|Bool)", 409),
    (r"expected m1 and m2 to have the same dtype, but got: (long|int|unsigned char|short|signed char|bool)", 409),
    (r"Input type \((torch\.)?(cuda\.)?(Long|Int|Byte|Short|long|int|unsigned char)\w*\) and (bias|weight) type", 409),
    (r"mixed dtype \(CPU\): (all inputs must share same datatype|expect parameter to have scalar type)", 410),
    (rf"{_MATRICES} (must|to) have the same dtype, but got:? (Double|double)", 410),
    (r"Input type \((torch\.)?(cuda\.)?[Dd]ouble\w*\) and (bias|weight) type", 410),
    (r"Found dtype Double but expected Float", 410),
    (r"Expected tensor for argument #1 'indices' to have one of the following scalar types", 411),
    (r"(gather|scatter\w*|index_select|index_add\w*|take)\(\): Expected dtype int\S* .*for index", 411),
    (r"tensors used as indices must be long", 411),
    (r"Trying to backward through the graph a second time", 107),
    (r"element 0 of tensors does not require grad and does not have a grad_fn", 108),
    (r"a leaf Variable that requires grad is being used in an in-place operation", 114),
    (r"one of the variables needed for gradient computation has been modified by an inplace operation", 115),
    (r"Inference tensors cannot be saved for backward", 205),
    (r"expected scalar type Long but found", 306),
    (r"Target -?\d+ is out of bounds", 307),
)
_COMPILED = tuple((re.compile(pattern), number) for pattern, number in PATTERNS)


def number_of(error: BaseException) -> int | None:
    """The pitfall that an exception of torch's is about, if its message tells."""
    text = str(error)
    return next((number for pattern, number in _COMPILED if pattern.search(text)), None)


class Errors(Check):
    """An operation of torch raised an error that is a known pitfall."""

    numbers = (107, 108, 114, 115, 205, 401, 406, 409, 410, 411, 416)

    def on_error(self, event: Event) -> None:
        number = number_of(event.error)
        if number is not None:
            first = str(event.error).strip().split("\n", 1)[0]
            self.found(number, event, fact=first[:160], details={"error": type(event.error).__name__})


CHECKS = (Errors,)
