"""What a check is. One file per check or family in `torchsan/checks/<area>/`; each lists its classes in `CHECKS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from torch import nn

from torchlint.findings import Finding, Related, Severity
from torchsan.options import Options
from torchsan.own import functools
from torchsan.program.compiled import never_compiled
from torchsan.program.where import NOWHERE, Where
from torchsan.ranks.joint_report import Who
from torchsan.report import wording
from torchsan.report.deliver import Findings, SanError
from torchsan.report.series import Series
from torchsan.stream.events import Event
from torchsan.stream.late_values import Late
from torchsan.stream.ledger import Ledger
from torchsan.stream.modes import aside


class Watched(Protocol):
    """What a check asks of its watch (`watcher.Watch`)."""

    options: Options
    ledger: Ledger
    late: Late
    series: Series
    gathered: Findings
    pages: Any  # rule pages of the user's
    models: tuple[nn.Module, ...]
    me: Who | None  # which rank this process is; None where it is the only one
    off: dict[str, str]  # why a check was switched off, by its name
    ends_with_program: bool

    # Left by one check for others.
    passes: Any
    loaded: Any
    last_inputs: Any
    last_load: Any

    @property
    def findings(self) -> list[Finding]: ...

    @property
    def steps(self) -> int: ...

    def modules(self) -> list[nn.Module]: ...

    def discover(self) -> None: ...

    def wants(self, number: int) -> bool: ...

    def add_finding(self, key: Any, finding: Finding) -> None: ...

    def switch_off(self, check: Any, error: BaseException) -> None: ...

    def go_blind(self, why: str, what: str = ...) -> None: ...

    def look_for_ranks(self) -> None: ...


class Check:
    """Hears events and says what it found. One object per watch.

    Methods named `before_<event>` and `on_<event>` (dots become underscores: `before_optimizer_step`) are told the
    event before and after it happens; `ledger` tells what is known of each optimizer's step so far. `start` is called
    when the watch starts, `finish` when it ends, `close` in any case.

    Class attributes: `numbers`, the pitfalls it can find; `level`, the least level at which it runs ("default",
    "thorough"; "memory" checks run at that level alone); `serves_pages`, whether it also judges pages of the user's;
    `always`, whether it must hear every step of a small model's too (see `stream/resting_checks.py`), but for the events
    in `asleep_to`; `hears_first`, whether other checks ask it about the event that they are just told.
    The first line of the docstring stands in for a page's message.
    """

    numbers: tuple[int, ...] = ()
    level = "default"
    serves_pages = False
    always = False
    asleep_to: tuple[str, ...] = ()
    hears_first = False
    is_over = False  # closed: it hears nothing more

    def __init__(self, watch: Watched):
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

        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                with aside():
                    return function(*args, **kwargs)
            except SanError:
                raise
            except Exception as error:
                self.watch.switch_off(self, error)
                return None

        never_compiled(called.__code__, all_that_it_calls=True)
        return functools.update_wrapper(called, function)

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
            code=f"TS{number:03d}",
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
