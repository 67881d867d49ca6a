"""904, 907: states that are no copies, and states of which only a part is loaded."""

from __future__ import annotations

import dis
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import nn

from torchsan.check import Check
from torchsan.own import re, torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event

_MANY = 64  # states that are remembered, the last ones
_BEST = re.compile(r"best|top|good|max|min|early|snapshot|checkpoint|ckpt", re.I)  # what a kept state is called, by its end
_NO_COPY = (
    "`{name}` is no copy of `{model}`: it shares the memory of the parameters, so each step changes it, and writing to it "
    "changes the model",
    "copy it: `{name} = copy.deepcopy({value})`",
)


class _Taken(NamedTuple):
    """A state_dict as it was taken: its first tensor is an alias of a parameter, and counts writes to it."""

    first: weakref.ref
    version: int
    event: Event
    step: int


class AliasedState(Check):
    """A state that was kept shares its memory with the model, and is loaded into it again: that changes nothing."""

    numbers = (904,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.taken: deque[_Taken] = deque(maxlen=_MANY)

    def on_state_take(self, event: Event) -> None:
        first = _first(event.result)
        if first is not None:
            event.where()
            self.taken.append(_Taken(weakref.ref(first), first._version, event, self.ledger.step))

    def before_load(self, event: Event) -> None:
        """Only what is loaded into its own model is sure: others may want to read a living state."""
        state = event.args[0]
        if not isinstance(state, Mapping) or not self.taken or not _is_its_own(event.subject, state):
            return
        held = {id(value): value for value in state.values() if isinstance(value, torch.Tensor)}
        for taken in reversed(self.taken):
            first = taken.first()
            if first is not None and id(first) in held and first._version != taken.version:
                name, model = name_of(state) or "state", name_of(event.subject) or "model"
                steps = self.ledger.step - taken.step
                fact = f"taken {steps} {'step' if steps == 1 else 'steps'} ago, and the same memory as the parameters"
                self.found(
                    904, taken.event, name=name, model=model, value=f"{model}.state_dict()", fact=fact,
                    words=None if _BEST.search(name) else _NO_COPY,
                    related=((event, "loading it here changes nothing"),),
                )
                return


def _first(state: Any) -> torch.Tensor | None:
    if not isinstance(state, Mapping):
        return None
    return next((v for v in state.values() if isinstance(v, torch.Tensor) and v.numel() and not v.is_inference()), None)


def _is_its_own(module: nn.Module, state: Mapping) -> bool:
    """Whether all parameters of a module that are in a state are there as themselves."""
    pairs = [(p, state[name]) for name, p in module.named_parameters() if name in state and p.numel()]
    return bool(pairs) and all(isinstance(v, torch.Tensor) and _address(v) == _address(p) != 0 for p, v in pairs)


def _address(tensor: torch.Tensor) -> int:
    try:
        return tensor.data_ptr()
    except RuntimeError:  # a tensor without memory of its own
        return 0


class LooseLoad(Check):
    """strict=False, and nobody looks at what did not match."""

    numbers = (907,)

    def before_load(self, event: Event) -> None:
        event.where()

    def on_load(self, event: Event) -> None:
        if event.strict is not False or event.result is None:
            return
        missing, unexpected = list(event.result.missing_keys), list(event.result.unexpected_keys)
        if (missing or unexpected) and _is_dropped(event.where()):
            model = name_of(event.subject) or "model"
            total = len(list(event.subject.named_parameters())) + len(list(event.subject.named_buffers()))
            fact = f"{_listed(missing)} of its {total} keys are not in the state, "
            fact += f"{_listed(unexpected)} of the state fit none"
            self.found(907, event, model=model, fact=fact, details={"missing": missing, "unexpected": unexpected})


def _listed(names: list[str]) -> str:
    if not names:
        return "0"
    return f"{len(names)} ({', '.join(names[:2])}{', ...' if len(names) > 2 else ''})"


def _is_dropped(place: Where | None) -> bool:
    """Whether the result of the call at `place` is thrown away: Python takes it off its stack at once."""
    if place is None or place.instruction < 0:
        return False
    following = (one for one in dis.get_instructions(place.code) if one.offset > place.instruction)
    return next((one.opname for one in following if one.opname != "CACHE"), "") == "POP_TOP"


CHECKS = (AliasedState, LooseLoad)
