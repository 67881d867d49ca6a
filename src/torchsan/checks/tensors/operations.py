"""402, 404, 417, 425, 430: what no event tells, read from the calls of a few steps at level="thorough".

For two training steps and two batches of evaluation, methods of Tensor and functions that make tensors are replaced
(`stream/brief_patches.py`). A dispatch mode would see more, and change numbers: some backward formulas are others under a mode.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from types import BuiltinFunctionType, MethodType
from typing import Any

from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.checks.tensors.operand_pairs import NAMES, Pairs
from torchsan.checks.tensors.transfers import FACTORIES, METHODS, Copy, Transfers
from torchsan.own import functools, torch
from torchsan.program.compiled import is_compiled
from torchsan.program.layers import tensors
from torchsan.program.where import _USER, Where, _place, kind_of
from torchsan.report.printing import code_at
from torchsan.stream import events
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event
from torchsan.stream.patches import Patches

_STEPS = 2  # of one optimizer that are looked at, after its first one
_MOST = 32  # steps of all optimizers meanwhile
_BATCHES = 2  # of evaluation
_LAYERS = {"sigmoid", "tanh"}  # functions of torch that other checks replace
_PINNED = "the batch lies in pinned memory, and the copy is waited for all the same: `non_blocking=True` is missing"
_PAGEABLE = "`non_blocking=True`, but the batch lies in memory that is not pinned, and so the copy is waited for"


class _Standing:
    """What stands in the place of a function, and is equal to it: by the function that was called, tensors of other
    classes look up what they do (`func in (torch.Tensor.to, ...)` in their `__torch_function__`)."""

    def __init__(self, original: Callable, call: Callable):
        self.original, self.call = original, call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else MethodType(self, owner)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)

    def __reduce__(self) -> tuple:
        return _as_it_is, (self.original,)  # for another process


def _as_it_is(function: Callable) -> Callable:
    return function


class Operations(Check):
    """Data is copied between devices again and again, or each prediction meets every target."""

    numbers = (402, 404, 417, 425, 430)
    level = "thorough"

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.replaced = Brief("operations")
        self.thread = 0
        self.inside = 0  # calls of models that are being run
        self.account: Any = None  # whose steps are counted
        self.steps = self.batches = self.left = 0
        self.evaluates = self.busy = False
        self.copies, self.pairs = Transfers(), Pairs()

    def on_loader_batch(self, event: Event) -> None:
        self.pairs.batch(tensors(event.batch))

    def before_forward(self, event: Event) -> None:
        if event.depth:
            return
        if self.evaluates and (event.grad or self.batches == _BATCHES):
            self.close()
        if not event.grad and self.batches < _BATCHES and (self.evaluates or not self.replaced.stands):
            self.evaluates = self.evaluates or self._open()
            self.batches += self.evaluates
        if get_ident() == self.thread:
            self.inside += 1
            self.copies.forward_begins()

    def on_forward(self, event: Event) -> None:
        if not event.depth and get_ident() == self.thread:
            self.inside = max(0, self.inside - 1)
            self.pairs.made_by_a_model(tensors(event.output))

    def on_optimizer_step(self, event: Event) -> None:
        if self.evaluates:
            self.close()
        account = self.ledger.account(event.subject)
        if self.account is None:
            if self._open():
                self.account, self.left = account, _MOST
            return
        self.left -= 1
        self.steps += account is self.account
        if self.steps >= _STEPS or self.left <= 0:
            self.close()

    def close(self) -> None:
        self.replaced.end()
        self.evaluates, self.thread = False, 0

    def _open(self) -> bool:
        if any(map(is_compiled, self.watch.modules())) or not self.replaced.begin(self._replace):
            return False
        self.thread, self.inside = get_ident(), 0
        return True

    def _replace(self, patches: Patches) -> None:
        for name in {*METHODS, *NAMES}:
            patches.method(torch.Tensor, name, functools.partial(self._wrapped, name))
        for name in {*FACTORIES, *NAMES} - _LAYERS:
            if isinstance(getattr(torch, name, None), BuiltinFunctionType):  # torch.cuda and torch.long are none
                patches.method(torch, name, functools.partial(self._wrapped, name))

    def _wrapped(self, name: str, original: Callable) -> Callable:
        heard = self.safely(self._heard)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if get_ident() == self.thread and not self.busy and not is_compiling():
                if result is not NotImplemented and not events.is_quiet() and not events.is_transformed():
                    self.busy = True  # what is done here is not to be heard
                    try:
                        heard(name, args, kwargs, result, sys._getframe(2))  # the caller of what stands there
                    finally:
                        self.busy = False
            return result

        return _Standing(original, call)

    def _heard(self, name: str, args: tuple, kwargs: dict, result: Any, caller: Any) -> None:
        if kind_of(caller.f_code.co_filename) != _USER:
            return  # a library's, which the user cannot mend
        place = _place(caller)
        inside = self.inside > 0
        if inside and name in FACTORIES:
            self.copies.made(kwargs, result, place)
        elif name in METHODS and not self.evaluates:
            copy = self.copies.look(name, args, kwargs, result, place, self.steps, inside)
            if copy is not None:
                self._tell(copy)
        if not inside and name in NAMES:
            rows = self.pairs.look(name, args, result)
            if rows is not None:
                self._tell_pair(place, rows)

    def _tell(self, copy: Copy) -> None:
        fact = f"{_size(copy.size)} from {copy.source} to {copy.target}, in each of {copy.steps} steps"
        call = code_at(copy.at)
        if copy.made is not None:
            self.found(
                402, copy.made, fact=fact, related=((copy.at, "copied here"),), call=code_at(copy.made),
                words=("`{call}` makes a tensor on the CPU in every forward, and it is copied to the model's device",
                       "make it there: `device=x.device`, `x.new_zeros`, `randn_like`; a constant can be a buffer"),
            )
        elif copy.inside:
            self.found(404, copy.at, fact=fact, call=call)
        elif copy.same:
            words = "`{call}` copies the same data to the device in every step", "move it once, before the loop"
            self.found(430, copy.at, fact=fact, call=call, words=words)
        elif copy.background is not None:
            self.found(425, copy.at, fact=fact, call=call, what=_PAGEABLE if copy.background else _PINNED)

    def _tell_pair(self, place: Where, rows: int) -> None:
        if self.evaluates or not any(finding.number == 309 for finding in self.watch.findings):  # pairs of a loss
            self.found(417, place, fact=f"({rows}, 1) and ({rows},) give ({rows}, {rows})", call=code_at(place))


def _size(count: int) -> str:
    if count < 1 << 10:
        return f"{count} bytes"
    return f"{count / (1 << 10):.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"


CHECKS = (Operations,)
