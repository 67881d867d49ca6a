"""What a matcher of one's own works with. This file is an interface: what is in it stays as it is while INTERFACE is 1.

    INTERFACE = 1
    CALLS = {"torch.load"}

    def check(view):
        for call in view.calls("torch.load"):
            if call.argument("mmap", 3).literal is True:
                yield view.finding(call, related=[], call=call.text)

docs/own-rules.md tells how a matcher is found. All else in torchlint may change with any release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import libcst as cst

from torchlint.dryrun.flow import after, common_loop
from torchlint.dryrun.values import Class, Const, Instance, Tensor, real
from torchlint.dryrun.values import Event as _Event
from torchlint.dryrun.values import Value as _Value
from torchlint.rules.base import Report
from torchlint.rules.base import View as _View
from torchlint.rules.mends.changes import Mend, replace, with_argument

INTERFACE = 1
UNKNOWN: Any = type("Unknown", (), {"__repr__": lambda self: "UNKNOWN", "__bool__": lambda self: False})()

_TRAIT_OF_ACT = {"softmax": "probabilities", "log_softmax": "log-probabilities", "sigmoid": "sigmoid"}


class Value:
    """What is known of a value. It may be one of several, where paths join: then only what holds of all is told."""

    def __init__(self, value: _Value | None):
        self._alts = real(value)

    @property
    def given(self) -> bool:
        """Whether there is a value at all: False for an argument that is certainly not given."""
        return bool(self._alts)

    @property
    def literal(self) -> Any:
        """The number, text, True, False or None that it is; UNKNOWN where it is no such thing, or not known."""
        first = self._alts[0].value if self._alts and isinstance(self._alts[0], Const) else UNKNOWN
        same = all(isinstance(alt, Const) and type(alt.value) is type(first) and alt.value == first for alt in self._alts)
        return first if self._alts and same else UNKNOWN

    @property
    def type(self) -> str:
        """The class of an object, as an import would name it, or its bare name where it is the project's own; "" where it is
        not known. "torch.Tensor" for tensors."""
        names = {_type(alt) for alt in self._alts}
        return names.pop() if len(names) == 1 else ""

    @property
    def traits(self) -> frozenset[str]:
        """Those of "probabilities", "log-probabilities" and "sigmoid" that it certainly has."""
        own = [_TRAIT_OF_ACT.get(alt.traits.get("act", "")) if isinstance(alt, Tensor) else None for alt in self._alts]
        return frozenset({trait for trait in own if trait is not None}) if len(set(own)) == 1 else frozenset()

    def is_same(self, other: Value) -> bool:
        """Whether both are certainly one and the same object."""
        return len(self._alts) == 1 == len(other._alts) and self._alts[0] is other._alts[0]

    def may_be_same(self, other: Value) -> bool:
        """Whether both may be one and the same object, as far as is known."""
        return any(mine is theirs for mine in self._alts for theirs in other._alts)


class Event:
    """Something that happens in the dry run: see EVENTS in torchlint/catalogue/vocabulary.py. "call" is a call of a name in
    CALLS, "unknown" a call of something that is not seen, which may do anything to what it is given."""

    def __init__(self, event: _Event):
        self._event = event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and other._event is self._event

    def __hash__(self) -> int:
        return id(self._event)

    @property
    def kind(self) -> str:
        return self._event.kind

    @property
    def name(self) -> str:
        """What is called, as an import would name it; "" where it has no such name."""
        return self._event.get("name") or ""

    @property
    def text(self) -> str:
        """The source of it, as it stands."""
        return self._event.site.text()

    @property
    def path(self) -> str:
        return self._event.site.path

    @property
    def row(self) -> int:
        return self._event.site.location().row

    @property
    def in_loop(self) -> bool:
        """Whether it happens in a loop."""
        return bool(self._event.loops)

    @property
    def in_module(self) -> bool:
        """Whether it happens in a method of an nn.Module."""
        return bool(self._event.get("in_module"))

    @property
    def subject(self) -> Value:
        """What it happens to: the optimizer that steps, the module that is called."""
        return Value(self._event.subject)

    def argument(self, name: str, position: int | None = None) -> Value:
        """An argument of a call, by name or by place. With `*` or `**` among the arguments, one that is not seen is not known."""
        kwargs, args = self._event.get("kwargs") or {}, self._event.get("args") or ()
        if name in kwargs:
            return Value(kwargs[name])
        if position is not None and position < len(args) and "*" not in kwargs:
            return Value(args[position])
        return Value(kwargs.get("**", kwargs.get("*")))

    def in_one_loop_with(self, other: Event) -> bool:
        """Whether there is a loop that both happen in."""
        return common_loop(self._event, other._event) is not None


class Ahead(NamedTuple):
    """The first events on all paths; whether a path ends without one."""

    events: list[Event]
    ends: bool


class View:
    """A finished dry run of a part of the program: of a file's body, a function, a class."""

    def __init__(self, view: _View, code: int):
        self._view, self._code = view, code

    @property
    def torch_version(self) -> tuple[int, int] | None:
        """The release of torch that is judged by; None where it is not known."""
        return self._view.torch_version

    def events(self, *kinds: str) -> list[Event]:
        """The events of some kinds, in the order they were met."""
        return [Event(event) for event in self._view.of(*kinds) if event.site is not None]

    def calls(self, *names: str) -> list[Event]:
        """The calls of some names of CALLS; of all of them, where none is given."""
        return [event for event in self.events("call") if not names or event.name in names]

    def ahead(self, event: Event, *kinds: str) -> Ahead:
        """What comes first, of some kinds, after an event, on each path that leads on from it, around loops, too."""
        found, ends = after(event._event, lambda other: other.kind in kinds and other.site is not None)
        return Ahead([Event(one) for one in found], ends)

    def finding(
        self,
        event: Event,
        *,
        related: Sequence[tuple[Event, str]] = (),
        add_argument: str = "",
        replace_by: str = "",
        safe: bool = False,
        **roles: str,
    ) -> Report:
        """What `check` yields.

        Args:
            event: where it is.
            related: other places, each with a few words.
            add_argument: a fix: a keyword argument that the call is to have, such as "mmap=True".
            replace_by: a fix: what is to stand there instead.
            safe: whether nobody can have meant the code as it is. Other fixes are made with --unsafe-fixes only.
            roles: what the words in braces in the page's message and help stand for.
        """
        places = [(other._event.site, str(words)) for other, words in related]
        told = {"call": self._view.call_text(event._event.site), **{role: str(words) for role, words in roles.items()}}
        return Report(self._code, event._event.site, told, places, _mend(event, add_argument, replace_by, safe))


def _mend(event: Event, add_argument: str, replace_by: str, safe: bool) -> Mend | None:
    site = event._event.site
    if add_argument:
        name = add_argument.partition("=")[0]
        given: Iterable[Any] = site.node.args if isinstance(site.node, cst.Call) else ()
        if any(arg.keyword is not None and arg.keyword.value == name for arg in given):
            return None
        change = with_argument(site, add_argument)
        return Mend(f"pass `{add_argument}`", [change], safe) if change is not None else None
    return Mend(f"write `{replace_by}`", [replace(site, replace_by)], safe) if replace_by else None


def _type(value: _Value) -> str:
    if isinstance(value, Tensor):
        return "torch.Tensor"
    if isinstance(value, Instance):
        return value.cls.name if isinstance(value.cls, Class) else value.type
    return ""
