"""What is open while a function runs: its frame, and the contexts around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.dryrun.values import now

if TYPE_CHECKING:
    from torchlint.dryrun.source_text import Site
    from torchlint.dryrun.values import Class, Func, Value
    from torchlint.sieve.facts import FileFacts


class Context:
    """A `with` block or decorator that is open: no_grad, autocast, ... `value` is what it sets, None where not known."""

    __slots__ = ("kind", "site", "value")

    def __init__(self, kind: str, site: Site | None, value=None):
        self.kind, self.site, self.value = kind, site, value


class Frame:
    """A function that is being run, or the body of a file."""

    __slots__ = ("base", "born", "captured", "depth", "facts", "func", "globals", "home", "last", "nonlocals", "opens", "outer", "returns",
                 "self_value", "yields")

    def __init__(self, facts: FileFacts, func: Func | None = None, outer: Frame | None = None):
        self.facts, self.func, self.outer, self.born = facts, func, outer, now()
        self.home: Class | None = func.home if func else None
        self.self_value: Value | None = None
        self.base: object = None  # the store it began with, as long as it runs
        self.returns: list = []
        self.yields: list[Value] = []
        self.last: list = []  # the events that it yields behind
        self.depth = 0  # how many contexts were open when it was called
        self.opens: tuple = (0, ())  # how many events there were where it yields, and the contexts that it has opened
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.captured = False
