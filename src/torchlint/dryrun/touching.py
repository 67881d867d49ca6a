"""Whether a call that cannot be seen can come to an optimizer or to the parameters that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.dryrun.values import Event, Func, Instance, Iter, Method, Opaque, Value, real

if TYPE_CHECKING:
    from torchlint.dryrun.interpreter import Run

_PLAIN = frozenset({"number", "str", "bool"})


class Touching:
    """The ways to one optimizer: a call may change what it is given or called on, what can be reached from there, and what
    unseen code was given before; and nothing else.

    Args:
        modules: what the optimizer updates.
    """

    def __init__(self, run: Run, optimizer: Value, modules: tuple[Value, ...]):
        self._run = run
        self._known: dict[Event, bool] = {}
        self._wanted = {id(optimizer), *map(id, modules)}
        for event in run.graph.events:
            if event.kind == "setattr" and any(alt is optimizer or optimizer in run.known_items(alt) for alt in real(event.value)):
                self._wanted.add(id(event.subject))
        # Whoever gave the model may have given it to what else comes from outside.
        self._outside = not modules or any(type(module) is Opaque for module in modules)
        self._given_away = not isinstance(optimizer, Instance) or bool(self._wanted & run.escaped)

    def can(self, event: Event) -> bool:
        """Whether a call can come to it."""
        if self._given_away:
            return True
        if event not in self._known:
            self._known[event] = self._leads(event)
        return self._known[event]

    def _leads(self, event: Event) -> bool:
        todo: list[Value | None] = [event.subject, *event.get("args", ())]
        seen: set[int] = set()
        while todo:
            for alt in real(todo.pop()):
                if id(alt) in self._wanted or isinstance(alt, (Func, Iter)):
                    return True
                if self._outside and type(alt) is Opaque and alt.source == "param" and not alt.flows:
                    return True
                if id(alt) not in seen and not (type(alt) is Opaque and alt.tags & _PLAIN):
                    seen.add(id(alt))
                    todo += self._behind(alt)
        return False

    def _behind(self, value: Value) -> list[Value | None]:
        """What a value was made of, was read from or holds."""
        found: list[Value | None] = [*value.parts, *self._run.known_items(value), *(flow.subject for flow in value.flows)]
        if isinstance(value, Method):
            found.append(value.owner)
        elif isinstance(value, Opaque):
            found.append(value.origin)
        elif isinstance(value, Instance):
            found += [*value.args, *value.kwargs.values()]
        return found
