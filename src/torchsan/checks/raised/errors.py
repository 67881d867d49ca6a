"""torch's own errors that are pitfalls, as findings, and a note on the error that leaves the watch.

An exception passes on unchanged. What it is about is told by `torchsan.errors.explain`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchsan.check import Check
from torchsan.errors.explain import explain
from torchsan.errors.note import Explanation, attach, mend_of, note, roles
from torchsan.errors.operands import describe, frames
from torchsan.own import torch, weakref
from torchsan.program.layers import is_a
from torchsan.program.where import Where
from torchsan.report import wording
from torchsan.report.mends import MENDS
from torchsan.stream.events import Event

_PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device)


class Errors(Check):
    """An operation of torch raised an error that is a known pitfall."""

    numbers = tuple(number for number in MENDS if isinstance(number, int))

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.last_inputs = None
        watch.last_load = None

    def before_forward(self, event: Event) -> None:
        if event.depth == 0 and event.grad:
            self.watch.last_inputs = _held(event.subject, event.args, event.kwargs)

    def before_load(self, event: Event) -> None:
        event.where()
        self.watch.last_load = event

    def on_error(self, event: Event) -> None:
        told = explain(event.error, self.watch)
        if told is None or (told.number is not None and not self.watch.wants(told.number)):
            return
        attach(event.error, note(told))
        if told.number is None or self._is_known(told.number, event):
            return
        details: dict[str, Any] = {one.name: describe(one.value) for one in told.operands}
        if told.layer is not None:
            details["module"] = told.layer
        related = tuple(told.related)
        place: Event | Where | None = event
        if told.number == 115 and related:  # backward is only where it comes to light
            place, related = related[0][0], ((event, "backward needs the value as it was"), *related[1:])
        elif told.number == 607 and related:  # the training process only hears of it
            place, related = related[0][0], ((event, "the loader whose worker it is"), *related[1:])
        self.found(
            told.number, place, fact=told.says, related=related, details=details, words=self._words(told), **roles(told)
        )

    def _words(self, told: Explanation) -> tuple[str, str] | None:
        """Our own words, where those of the page name things that are not known here."""
        page = wording.rule(told.number or 0, told.summary, self.watch.pages)
        if told.told:
            return told.summary, mend_of(told)
        known = roles(told).keys()
        if wording.fields(page.message) <= known and wording.fields(page.help) <= known:
            return None
        return told.summary, mend_of(told)

    def _is_known(self, number: int, event: Event) -> bool:
        """Whether another check has said it of a line on the error's way: one that saw the call itself knows more."""
        passed = {(one.frame.f_code.co_filename, one.line) for one in frames(event.error.__traceback__)}
        return any(
            finding.number == number and (finding.location.filename, finding.location.row) in passed
            for finding in self.watch.findings
        )


def _held(module: Any, args: tuple, kwargs: dict) -> Callable[[], tuple | None] | None:
    """The inputs of a forward, held weakly: given back while the program has them. None where they are not plain."""
    values = [*args, *kwargs.values()]
    if not all(is_a(value, (torch.Tensor, *_PLAIN)) for value in values):
        return None
    names = list(kwargs)
    refs = [weakref.ref(value) if is_a(value, torch.Tensor) else lambda value=value: value for value in values]
    tensors = [is_a(value, torch.Tensor) for value in values]
    owner = weakref.ref(module)

    def given() -> tuple | None:
        model, found = owner(), [ref() for ref in refs]
        if model is None or any(is_tensor and value is None for is_tensor, value in zip(tensors, found)):
            return None
        count = len(found) - len(names)
        return model, tuple(found[:count]), dict(zip(names, found[count:]))

    return given


CHECKS = (Errors,)
