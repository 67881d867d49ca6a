"""803, 807: DistributedDataParallel sends no gradients: the model was moved or changed after it was wrapped, or is
called without the wrapper."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_EVERY = 64  # forwards of a wrapper from which its parameters are looked at, after the first few
_FIRST = 3
_MOVED = (
    "`{call}` comes after `DistributedDataParallel` was built: the hooks that send the gradients are lost with it, and "
    "each process trains on its own",
    "move the model first, then wrap it",
)
_ADDED = (
    "`{name}` came into the model after `DistributedDataParallel` was built, which knows nothing of it: its gradients "
    "stay apart in each process",
    "change the model first, then wrap it; or wrap it anew, and build the optimizer after that",
)
_UNFROZEN = (
    "`{name}` did not require a gradient when `DistributedDataParallel` was built: its gradients stay apart in each "
    "process",
    "unfreeze it before the model is wrapped; or wrap the model anew",
)


class _Wrapped:
    """The parameters of a model as they were when it was wrapped."""

    def __init__(self, model: nn.Module, inner: nn.Module, event: Event):
        self.model = weakref.ref(model)
        self.event = event
        self.calls = 0
        self.known = {
            id(p): (weakref.ref(p), p.device, p.dtype, p.requires_grad) for _, p in inner.named_parameters()
        }

    def of(self, parameter: torch.Tensor) -> tuple | None:
        """Device, dtype and `requires_grad` at that time; None for one that was not there."""
        known = self.known.get(id(parameter))
        return None if known is None or known[0]() is not parameter else known[1:]


class MovedAfterWrap(Check):
    """A model is moved, or gets other parameters, after it was wrapped."""

    numbers = (803,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.wrapped: dict[int, _Wrapped] = {}
        self.moves: list[tuple[weakref.ref, Where | None, str | None]] = []

    def on_module_add(self, event: Event) -> None:
        if isinstance(event.subject, DistributedDataParallel):
            event.where()
            self.wrapped[id(event.subject)] = _Wrapped(event.subject, event.child, event)

    def on_module_move(self, event: Event) -> None:
        if self.wrapped:
            name = name_of(event.subject)
            self.moves = [*self.moves[-3:], (weakref.ref(event.subject), event.where(), name)]

    def before_forward(self, event: Event) -> None:
        wrapped = self.wrapped.get(id(event.subject))
        if wrapped is None or wrapped.model() is not event.subject or not event.grad:
            return
        wrapped.calls += 1
        if wrapped.calls <= _FIRST or wrapped.calls % _EVERY == 0 or self.thorough:
            self._look(event, event.subject, wrapped)

    def _look(self, event: Event, model: Any, wrapped: _Wrapped) -> None:
        ignored = model.parameters_to_ignore
        for name, p in model.module.named_parameters():
            before = wrapped.of(p)
            if name in ignored or not p.requires_grad:
                continue
            if before is None:
                self._say_changed(event, model, wrapped, name, _ADDED)
            elif not before[2]:
                self._say_changed(event, model, wrapped, name, _UNFROZEN)
            elif (p.device, p.dtype) != before[:2]:
                self._say_moved(event, model, wrapped, p, before)
            else:
                continue
            self.wrapped.pop(id(model), None)  # once is enough
            return

    def _say_changed(self, event: Event, model: Any, wrapped: _Wrapped, name: str, words: tuple[str, str]) -> None:
        model_name = name_of(model) or "model"
        self.found(
            803, event, name=f"{model_name}.module.{name}", words=words,
            related=((wrapped.event, "the model is wrapped here"),), details={"parameter": name},
        )

    def _say_moved(self, event: Event, model: Any, wrapped: _Wrapped, p: torch.Tensor, before: tuple) -> None:
        parts = {id(part) for part in model.modules()}
        moves = [(place, name) for ref, place, name in self.moves if (part := ref()) is not None and id(part) in parts]
        place, name = moves[-1] if moves else (None, None)
        was, now = _kind(before[0], before[1]), _kind(p.device, p.dtype)
        self.found(
            803, place or event, call=f"{name or name_of(model) or 'model'}.to(...)", words=_MOVED,
            fact=f"{was} when it was wrapped, {now} now",
            related=((wrapped.event, "the model is wrapped here"), (event, "the first call after the move")),
        )


def _kind(device: torch.device, dtype: torch.dtype) -> str:
    return f"{str(dtype).removeprefix('torch.')} on {device}"


class WrapperBypassed(Check):
    """The model inside DistributedDataParallel is trained without the wrapper."""

    numbers = (807,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.wrappers: list[weakref.ref] = []
        self.inner: dict[int, weakref.ref] = {}  # by id of an inner model: its wrapper
        self.called: dict[int, Event] = {}  # inner models that were called by themselves since the last step
        self.sent: set[int] = set()  # those that were called through the wrapper
        self.pending: dict[int, tuple[Event, weakref.ref]] = {}  # by account
        self.by_hand = False

    def _wrapper_of(self, module: nn.Module) -> Any:
        ref = self.inner.get(id(module))
        wrapper = None if ref is None else ref()
        return wrapper if wrapper is not None and wrapper.module is module else None

    def before_forward(self, event: Event) -> None:
        if self.watch.me is None or not event.grad:
            return
        module = event.subject
        if isinstance(module, DistributedDataParallel):
            self.inner[id(module.module)] = weakref.ref(module)
            self.sent.add(id(module.module))
        elif event.depth == 0:
            if id(module) not in self.inner:
                for wrapper in self.watch.modules():
                    if isinstance(wrapper, DistributedDataParallel):
                        self.inner[id(wrapper.module)] = weakref.ref(wrapper)
            if self._wrapper_of(module) is not None:
                event.where()
                self.called[id(module)] = event

    def on_collective(self, event: Event) -> None:
        if event.subject not in ("forward", "backward"):
            self.by_hand = True  # gradients may be brought together by the program itself

    def on_backward(self, event: Event) -> None:
        for key, forward in self.called.items() if self.called else ():
            module = forward.subject
            wrapper = None if module is None else self._wrapper_of(module)
            if wrapper is None or key in self.sent or self.by_hand:
                continue
            ids = {id(p) for p in module.parameters()}
            for account in event.reached:
                if not account.ids.isdisjoint(ids):
                    self.pending[id(account)] = forward, weakref.ref(wrapper)

    def before_optimizer_step(self, event: Event) -> None:
        if not self.pending:
            return
        forward, ref = self.pending.pop(id(self.ledger.account(event.subject)), (None, None))
        wrapper = None if ref is None else ref()
        if forward is None or wrapper is None or self.by_hand or id(wrapper.module) in self.sent:
            return
        model = name_of(wrapper)
        self.found(
            807, forward, call=f"{model}.module" if model else name_of(forward.subject), model=model,
            related=((event, "the step that takes what this process alone has computed"),),
        )

    def on_optimizer_step(self, event: Event) -> None:
        self.by_hand = False
        if self.called or self.sent:
            ids = self.ledger.account(event.subject).ids
            for key in {*self.called, *self.sent}:
                ref = self.inner.get(key)
                wrapper = None if ref is None else ref()
                if wrapper is None or any(id(p) in ids for p in wrapper.module.parameters()):
                    self.called.pop(key, None)
                    self.sent.discard(key)


CHECKS = (MovedAfterWrap, WrapperBypassed)
