"""512: one more hook on a module each time, none removed.

Hooks are counted after a few forwards of each model. Where the same one was added again, the next registrations are
listened to, for the line that makes them.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import functools
from torchsan.program.walks import named_parts, parts_of
from torchsan.program.where import Where, here
from torchsan.stream.events import Event
from torchsan.stream.patches import Patches

_FIRST, _EVERY = 4, 64  # forwards of a model after which is counted: the first ones, then as many in so many
_TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_METHODS = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_backward_hook",
    "register_full_backward_pre_hook",
)


class HookLeak(Check):
    """One more hook is registered on a module each time, and none is removed."""

    numbers = (512,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.forwards: dict[int, int] = self.ledger.while_alive({})
        self.counts: dict[int, dict[str, int]] = self.ledger.while_alive({})  # by model: hooks of its parts after the last look
        self.suspects: dict[int, set[str]] = self.ledger.while_alive({})  # by model: parts that had one more
        self.patches: Patches | None = None
        self.registered: dict[int, Where | None] = {}  # by module
        self.stepped: Where | None = None  # the program's line in an optimizer's step

    def on_forward(self, event: Event) -> None:
        if event.depth or not isinstance(event.subject, nn.Module):
            return
        key = id(event.subject)
        count = self.forwards[key] = self.forwards.get(key, 0) + 1
        if count <= _FIRST or count % _EVERY < _FIRST:
            self._look(event.subject, key)

    def on_optimizer_step(self, event: Event) -> None:
        if self.patches is not None:
            self.stepped = event.where()

    def close(self) -> None:
        self._stop_listening()

    def _look(self, root: nn.Module, key: int) -> None:
        forward, pre, backward, backward_pre = _TABLES  # no call of a function for each part: there may be very many
        hooked = {
            id(part) for part in parts_of(root)
            if ((get := part.__dict__.get)(forward) or get(pre) or get(backward) or get(backward_pre)) and _count(part)
        }
        parts = {name: part for name, part in named_parts(root) if id(part) in hooked} if hooked else {}
        before, now = self.counts.get(key), {name: _count(part) for name, part in parts.items()}
        self.counts[key] = now
        grown = set() if before is None else {name for name in now if before.get(name, 0) < now[name]}
        grown = {name for name in grown if _repeats(parts[name])}
        for name in grown & self.suspects.get(key, set()):
            part = parts[name]
            if id(part) in self.registered:
                kind = type(part).__name__
                fact = f"{now[name]} on `{name or kind}` by now"
                place = self.registered[id(part)]
                if place is not None and place == self.stepped:
                    continue  # `trainer.train()`: the loop is a library's, and so is the hook
                self.found(512, place, where="this line", module=name or kind, fact=fact, details={"hooks": now[name]})
        self.suspects[key] = grown
        if grown:
            self._listen()
        elif not any(self.suspects.values()):
            self._stop_listening()

    def _listen(self) -> None:
        if self.patches is None:
            self.patches = Patches()
            for name in _METHODS:
                self.patches.method(nn.Module, name, self._recording)

    def _stop_listening(self) -> None:
        if self.patches is not None:
            self.patches.undo()
            self.patches = None
            self.registered.clear()

    def _recording(self, original: Any) -> Any:
        note = self.safely(self._note)

        def register(module: nn.Module, hook: Any, *args: Any, **kwargs: Any) -> Any:
            note(module, hook)
            return original(module, hook, *args, **kwargs)

        return register

    def _note(self, module: nn.Module, hook: Any) -> None:
        if not _is_ours(hook):
            self.registered[id(module)] = here()


def _is_ours(hook: Any) -> bool:
    return str(getattr(hook, "__module__", "")).startswith("torchsan")


def _hooks(part: nn.Module) -> list[list[Any]]:
    return [[hook for hook in getattr(part, table).values() if not _is_ours(hook)] for table in _TABLES]


def _count(part: nn.Module) -> int:
    return sum(map(len, _hooks(part)))


def _repeats(part: nn.Module) -> bool:
    """Whether the last two hooks of a kind are of the same code."""
    return any(len(hooks) > 1 and _code(hooks[-1]) is _code(hooks[-2]) for hooks in _hooks(part))


def _code(hook: Any) -> Any:
    hook = hook.func if isinstance(hook, functools.partial) else hook
    return getattr(hook, "__code__", None) or type(hook)


CHECKS = (HookLeak,)
