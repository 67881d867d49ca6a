"""What a check is. One file per check or family in `torchsan/checks/<area>/`; each lists its classes in `CHECKS`."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from torchlint.findings import Finding, Related, Severity
from torchsan.program.where import NOWHERE, Where
from torchsan.report import wording
from torchsan.report.deliver import SanError
from torchsan.stream.events import Event

if TYPE_CHECKING:
    from torchsan.watcher import Watch


class Check:
    """Hears events and says what it found. One object per watch.

    Methods named `before_<event>` and `on_<event>` (dots become underscores: `before_optimizer_step`) are told the
    event before and after it happens; `ledger` tells what is known of each optimizer's step so far. `start` is called
    when the watch starts, `finish` when it ends, `close` in any case.

    Class attributes: `numbers`, the pitfalls it can find; `level`, the least level at which it runs ("default",
    "thorough"; "memory" checks run at that level alone); `serves_pages`, whether it also judges pages of the user's;
    `always`, whether it must hear every step of a tiny model's too (see `stream/resting_checks.py`); `hears_first`,
    whether other checks ask it about the event that they are just told.
    The first line of the docstring stands in for a page's message.
    """

    numbers: tuple[int, ...] = ()
    level = "default"
    serves_pages = False
    always = False
    hears_first = False

    def __init__(self, watch: Watch):
        self.watch = watch
        self.ledger = watch.ledger
        self.thorough = watch.options.level != "default"  # look at every step where it would be one in so many

    def start(self) -> None:
        """The watch starts."""

    def finish(self) -> None:
        """The watch ends: the last chance to say something."""

    def close(self) -> None:
        """Nothing more will be told, because the watch has ended, the check failed, or nothing can be seen any more:
        take down what is still in place."""

    def safely(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, made for what is called in the midst of the program and not by an event (a hook of a layer's, a
        replaced function): an error in it is not the program's, but switches the check off. It then gives None."""

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except SanError:
                raise
            except Exception as error:
                self.watch.switch_off(self, error)
                return None

        return called

    def found(
        self,
        number: int,
        at: Event | Where | None,
        *,
        key: Any = None,
        step: int | None = None,
        fact: str = "",
        related: tuple[tuple[Event | Where | None, str], ...] = (),
        details: dict[str, Any] | None = None,
        words: tuple[str, str] | None = None,
        **roles: Any,
    ) -> None:
        """Report pitfall `number` at the user's line `at` (an event, while it is told or after it gave its place).

        Findings with the same number and line are one; `key` replaces the line in that. `fact` is added to the page's
        message: what was measured in this run. `related` are other places and why they matter. `roles` fill the
        message's fields. `words` are a message and a help of the check's own, where the page's fit another form of the
        mistake.
        """
        if not self.watch.wants(number):
            return
        place = _place(at)
        identity = (number, key) if key is not None else (number, place and (place.code.co_filename, place.line))
        if self.watch.gathered.seen(identity):
            return
        rule = wording.rule(number, type(self).__doc__ or "", self.watch.pages)
        message, help = words or (rule.message or rule.summary, rule.help)
        message = wording.fill(message, roles)
        also = tuple(Related(where.location(), why) for where, why in ((_place(e), w) for e, w in related) if where)
        finding = Finding(
            code=f"TS{number}",
            name=rule.name,
            message=f"{message} ({fact})" if fact else message,
            location=place.location() if place else NOWHERE,
            group=rule.group,
            severity=Severity(rule.severity),
            help=wording.fill(help, roles),
            url=rule.url if rule.path else "",  # a stand-in for a page has no address
            related=also,
            step=self.ledger.step if step is None else step,
            details=dict(details or {}),
        )
        self.watch.add_finding(identity, finding)


def _place(at: Event | Where | None) -> Where | None:
    return at.where() if isinstance(at, Event) else at


@lru_cache(maxsize=1)
def known() -> tuple[type[Check], ...]:
    """All check classes under `torchsan/checks/`: those that hear events first, then by the names of their files."""
    from torchsan import checks

    found: list[type[Check]] = []
    for name in sorted(info.name for info in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}.")):
        found.extend(getattr(importlib.import_module(name), "CHECKS", ()))
    return tuple(sorted(found, key=lambda check: not check.hears_first))
