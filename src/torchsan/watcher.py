"""watch(): watches a training run, finds what is wrong, changes nothing, and takes everything down again.

How the parts fit (for whoever adds to them):

- A **probe** (`probes/<source>.py`) has `install(patches)`. It puts official hooks (or, where torch has none,
  replacements) in place through `patches` and tells events through `events.begin/end/happened`. Names of events
  stand in `torchlint.catalogue.vocabulary.EVENTS`, what they carry in the probe's docstring. Probes are shared by all running
  watches: installed with the first, taken down with the last.
- The **ledger** (`ledger.py`) hears every event first and keeps, for each optimizer, what happened since its last
  step.
- A **check** (`checks/<name>.py`, listed in that file's `CHECKS`) derives from `check.Check`, has `numbers`, and
  methods `before_<event>` / `on_<event>` told before and after the event; `found(number, where, role=..., fact=...)`
  reports. Files are found by being in the folder. The page in `rules/` gives name, group, message and help; a check
  works without its page. An exception inside a check switches that check off, with a word, and the run goes on.
- Pages with `[[order]]` forms and no check of their own are judged by `checks/forms/order.py`, those with `[[trait]]` by
  `checks/forms/traits.py`.
- Values are read late: `watch.late.ask(check, tensor, answer)` reads device values when they are there.
- Numbers over steps go to `watch.series.record(name, step, value)`; names stand in `series.py`.
- `where.here()` gives the user's line; an event gives its own by `event.where()`. An event may be kept: when it is
  over it lets go of everything of the program's. Checks hold tensors of the program weakly or not at all.
- `events.quiet()` hides what a check itself does (a replay) from all probes.
- An exception that leaves the `with` block is told as the event `error` (`error`, its `where`) before `finish`.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

from torch import nn
from torch.optim import Optimizer

from torchlint.findings import Finding
from torchsan.check import Check
from torchsan.checks import known
from torchsan.nonfinite.step_function import Step
from torchsan.options import Options, gather
from torchsan.own import functools, gc, os, threading
from torchsan.program.layers import WRAPPERS
from torchsan.program.walks import parameters_of
from torchsan.program.where import Where, here, of_traceback
from torchsan.ranks.joint_report import Left, Meeting, Who, leave, who
from torchsan.report import first_batch, no_steps, printing, wording
from torchsan.report.deliver import Findings, SanError, say
from torchsan.report.first_batch import FirstBatch, Shown
from torchsan.report.series import Series
from torchsan.stream import events, training_thread
from torchsan.stream.collector import patient
from torchsan.stream.late_values import Late
from torchsan.stream.ledger import Account, Ledger, innermost
from torchsan.stream.patches import Patches
from torchsan.stream.weak_ids import WeakIds

_patches = Patches()
_SAME = "two threads train the same model at the same time"
_guard = threading.RLock()
_made = WeakIds()  # by `watch`


_Function = TypeVar("_Function", bound=Callable[..., Any])


class Watch:
    """A watch over a training run: context manager, decorator, or `start()` and `stop()`. See `watch`."""

    def __init__(self, models: Iterable[nn.Module], optimizers: Iterable[Optimizer], options: Options):
        self.options = options
        self._models, self._optimizers = WeakIds(), WeakIds()  # they live as long as the program wants them to
        self._take(*models, *optimizers)
        self.me: Who | None = None
        self.follows: int | None = None  # the thread that alone is heard; None for all
        self.leaves_at: Path | None = None  # where another process will look for what was found here
        self.handed_over = False
        self.pages = wording.extra(options.extend_rules)
        self.late = Late()
        self.ledger = Ledger(self)
        self.series = Series()
        self.series_of_ranks: dict[int, dict[str, Any]] = {}  # of the others, in brief
        self.tokenizer: Any = None  # of the user's, where one was given
        self.first_batch: FirstBatch | None = None  # of a language model
        self.no_batch = first_batch.NO_FORWARD  # why there is none yet
        self.gathered = Findings(options.on_finding)
        self.checks: list[Any] = []
        self.off: dict[str, str] = {}
        self.silence: Callable[[], Any] | None = None  # for all steps: see `step`
        self.was_started = self._is_used = False
        self._made_at: Where | None = None
        self.ends_with_program = False  # nothing of the program comes after the end of this watch
        self._wanted: dict[int, bool] = {}
        self._open: list[Check] = []  # checks that have something to take down, perhaps
        self._depth = 0
        self._meeting: Meeting | None = None
        self._failed = False

    # What the user asks for.

    @property
    def findings(self) -> list[Finding]:
        """What was found so far, in the order of appearance, with counts."""
        return self.gathered.list()

    @property
    def steps(self) -> int:
        """Optimizer steps so far."""
        return self.ledger.step

    def step(self, function: Callable, silence: Callable[[], Any] | None = None) -> Callable:
        """`function`, told to the watch as a whole training step, so that it can be run again with the loss included.

            training_step = san.step(training_step)
            for batch in loader:
                loss = training_step(batch)

        It is called as it is, with what it is given. Only where a loss or gradient is not finite it is called once
        more, up to the backward that showed it, in a state of its own (see `nonfinite/step_function.py`): what it does to models,
        optimizers, gradients and random states leaves no trace, but what it does to other objects is not undone.
        It must not take its batch from an iterator itself.

        Args:
            function: forward, loss, and either backward and all the rest, or the loss as its result.
            silence: makes a context for the second call: what it changes of a framework's is put back, nobody is told.
        """

        @functools.wraps(function)
        def told(*args: Any, **kwargs: Any) -> Any:
            if not self._depth:
                return function(*args, **kwargs)
            step = Step(function, args, kwargs, silence or self.silence)
            step.begin()
            try:
                return function(*args, **kwargs)
            finally:
                step.end()

        return told

    def batch(self) -> Shown:
        """What a language model was trained on in its first batch, decoded, and what trains; in a notebook as HTML. Without one it
        says what is looked for, and what was missing."""
        self._is_used = True
        return Shown(self.first_batch, self.no_batch)

    def __repr__(self) -> str:
        return f"<torchsan.Watch: {printing.told(self.findings, self.steps)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: the findings so far, a row each."""
        from torchlint.report.notebook import as_table

        self._is_used = True
        found = printing.shortened(self.findings, os.getcwd())
        return as_table(found, f"torchsan: {printing.told(found, self.steps)}", [f"{name} was switched off: {why}" for name, why in self.off.items()])

    def report(self, path: str | os.PathLike | None = None) -> str:
        """All findings as text, each with its source line, how often it was seen, and how to mend it.

        Args:
            path: a file to write a report to, too, by its ending: .html (a page of its own, with the course of the
                run), .json, .sarif or .xml (JUnit). Where that is not possible, a line on standard error says so.
        """
        findings = self.findings
        if path is not None and not self.handed_over:  # of several ranks the first one writes for all
            from torchsan.report.reports import write

            write(os.fspath(path), self, findings, os.getcwd(), self.steps)
        self._is_used = True
        lines = [f"torchsan: {printing.told(findings, self.steps)}"]
        if not self.was_started:
            lines = [f"torchsan: nothing was watched: {no_steps.NEVER}"]
        elif not findings and not self.steps:
            lines[0] += f": {no_steps.why(self.ledger)}"
        if self.first_batch is not None:
            lines += ["", first_batch.as_text(self.first_batch)]
        if findings:
            lines += ["", printing.as_text(findings)]
        lines.extend(f"torchsan: {name} was switched off: {why}" for name, why in self.off.items())
        return "\n".join(lines)

    def start(self) -> Watch:
        """Start watching. A watch that runs already only counts how often it was started."""
        with _guard:
            self._depth += 1
            self.was_started = True
            if self._depth > 1:
                return self
            try:
                self._begin()
            except BaseException:  # it was interrupted: nobody will stop it
                self._depth = 0
                self._end()
                raise
        return self

    def add(self, *things: nn.Module | Optimizer) -> None:
        """Watch these models and optimizers too; they were built before the watch began."""
        with _guard:
            self._take(*things)
            if self._depth:
                from torchsan.probes import modules

                optimizers = self._look_around()
                modules.add(self.models)
                for optimizer in optimizers:
                    self.ledger.account(optimizer)

    def fail(self, error: BaseException) -> None:
        """The program has failed with `error`: add to it what it was about. The watch goes on until it is stopped."""
        self._failed = True
        if isinstance(error, Exception) and not isinstance(error, SanError):
            place = of_traceback(error.__traceback__)
            events.happened("error", error, error=error, _where=place)

    def stop(self, error: BaseException | None = None) -> None:
        """Stop watching and take down what was put in place. Stopping a watch that does not run does nothing.

        Raises:
            SanError: with `on_finding="raise"`, for what only the end of a run shows; never over another error.
        """
        with _guard:
            if self._depth == 0:
                return
            self._depth -= 1
            if self._depth:
                return
            raised = None
            try:
                try:
                    self._last_words(error)
                except SanError as found:
                    raised = found
            finally:
                self._end()
        self._say_if_no_optimizer(error)
        # Not under the lock: other ranks may have to be waited for.
        self._meet()
        if raised is not None and error is None:
            raise raised

    def _say_if_no_optimizer(self, error: BaseException | None) -> None:
        """Where backward was called and no optimizer was met, silence would pass for a clean bill."""
        if error is None and self.options.on_finding == "warn" and self._made_at is not None:
            if self.ledger.backwards and not self.ledger.met_any and not self.findings:
                place = self._made_at.location()
                say(f"{place.filename}:{place.row}: {printing.told([], 0)}: {no_steps.why(self.ledger)}")

    def __enter__(self) -> Watch:
        return self.start()

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop(error)

    def __call__(self, function: _Function) -> _Function:
        """Watch every call of `function`."""

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        self._is_used = True
        return cast(_Function, watched)

    def __del__(self) -> None:
        self.say_if_never_begun()

    def say_if_never_begun(self) -> None:
        """At its end, or at the program's: nobody has started it, or asked it for anything."""
        if not getattr(self, "was_started", True) and not self._is_used and self._made_at is not None:
            self._is_used = True
            place = self._made_at.location()
            say(f"{place.filename}:{place.row}: nothing was watched: {no_steps.NEVER}")

    # What checks and probes ask for.

    def wants(self, number: int) -> bool:
        """Whether the options ask for this pitfall."""
        answer = self._wanted.get(number)
        if answer is None:
            page = wording.rule(number, "", self.pages)
            answer = self._wanted[number] = self.options.wants(number, page.name, page.group)
        return answer

    @property
    def models(self) -> list[nn.Module]:
        """Those that were given, as far as they live."""
        return list(self._models)

    def modules(self) -> list[nn.Module]:
        """The root modules seen: those given and those found."""
        from torchsan.probes import modules

        given = self.models
        found = [*given, *(m for m in modules.roots() if not any(m is one for one in given))]
        return found if self.follows is None else [m for m in found if self._is_followed(m)]

    def look_for_ranks(self) -> None:
        """See whether this process is one of several; a program may make its process group at any time."""
        if self.me is not None or (me := who()) is None:
            return
        self.me = me
        self.gathered.ranks = (me.rank,)
        self.gathered.silent = me.place != 0
        if self.leaves_at is None:
            self._meeting = Meeting(me)
        self._leave()

    def add_finding(self, key: Any, finding: Finding) -> None:
        """Count and deliver `finding`; where there are other ranks, the first one learns of it at once.

        Raises:
            SanError: with `on_finding="raise"`.
        """
        self.look_for_ranks()
        try:
            self.gathered.add(key, finding)
        finally:
            self._leave()

    def discover(self) -> None:
        """Hook models that were built meanwhile."""
        from torchsan.probes import modules

        modules.discover()

    def switch_off(self, check: Any, error: BaseException) -> None:
        """A check failed: it is switched off for good, and said so once."""
        name = type(check).__name__
        if name in self.off:
            return
        self.off[name] = f"{type(error).__name__}: {error}"
        self.checks = [other for other in self.checks if other is not check]
        events.refresh()
        self._close(check)
        numbers = ", ".join(f"TS{number:03d}" for number in getattr(check, "numbers", ()))
        say(f"the check {name} {f'({numbers}) ' if numbers else ''}failed and is off: {self.off[name]}")

    def go_blind(self, why: str, what: str = "nothing is watched from here on") -> None:
        """From here on too little can be seen to judge anything: every check ends, and that is said once."""
        if not self.ledger.is_blind:
            self.checks = [self.ledger]
            self.ledger.is_blind = True
            events.refresh()
            for check in list(self._open):
                self._close(check)
            say(f"{why}: {what}")

    def follow(self, first: int | None, subject: Any, before: int | None) -> None:
        """This thread trains, with `subject`, while the thread `first` trained before it and goes on; where `before` is given,
        that thread used `subject` until now. From here on only one of them is heard."""
        me = threading.get_ident()
        if self.ledger.is_blind or (self.follows is not None and before != self.follows):
            return
        if self.follows is not None:
            if training_thread.is_taken(before):
                self.go_blind(_SAME)
            else:
                self.follows = me  # that thread is done, or waits for this one
            return
        given = self.models
        users = {training_thread.user(model) for model in given}
        if not training_thread.parameters(subject).isdisjoint(id(p) for model in given for p in parameters_of(model)):
            users.add(me)  # its optimizer, which is cleared before the model is called
        follows, other = (me, first) if me in users and first not in users else (first, me)
        ours, others = set(), training_thread.parameters(subject) if other == me else set()
        for thing in (*self.modules(), *(one for account in self.ledger if (one := account.optimizer) is not None)):
            user = training_thread.user(thing)
            if user == follows:
                ours |= training_thread.parameters(thing)
            elif user == other:
                others |= training_thread.parameters(thing)
        if before is not None or ours & others:
            self.go_blind(_SAME)
            return
        self.follows, self.ledger.followed = follows, self._owns
        names = dict.fromkeys(type(model).__name__ for model in self.modules())
        whose = f"that of {', '.join(f'`{name}`' for name in names)}" if names else "the one that began first"
        say(f"two threads train at the same time: from here on only one of them is watched, {whose}")

    def _is_followed(self, thing: Any) -> bool:
        user = training_thread.user(thing)
        return user == self.follows or (user is None and any(thing is model for model in self.models))

    def _owns(self, account: Account) -> bool:
        """Whether an optimizer is of the thread that is followed; of one that was never used its parameters tell."""
        optimizer = account.optimizer
        if training_thread.user(optimizer) is not None:
            return training_thread.user(optimizer) == self.follows
        return any(not account.ids.isdisjoint(training_thread.parameters(model)) for model in self.modules())

    # Inside.

    def _begin(self) -> None:
        with patient():
            self._set_up()

    def _set_up(self) -> None:
        from torchsan.probes import install_all, modules

        if not events.listening():
            install_all(_patches)
        self.follows = self.ledger.followed = None
        self.me, self._meeting, self.handed_over, self._failed = None, None, False, False
        self.look_for_ranks()
        self._leave()
        optimizers = self._look_around()
        modules.add(self.models)
        if not self.models and not optimizers:
            modules.wait_for_those_alive()
        self._make_checks()
        events.join(self)
        for optimizer in optimizers:
            self.ledger.account(optimizer)
        for check in list(self.checks):
            self._safely(check, check.start)

    def _end(self) -> None:
        """Hear nothing more, and take down what is in place, whatever is interrupted meanwhile."""
        try:
            events.leave(self)
        finally:
            try:
                for check in list(self._open):
                    self._close(check)
            finally:
                self._release()

    def _make_checks(self) -> None:
        made: list[Any] = [self.ledger]
        for cls in known():
            if cls.level == "memory" and self.options.level != "memory":
                continue
            if cls.level == "thorough" and self.options.level == "default":
                continue
            if not (cls.serves_pages or not cls.numbers or any(self.wants(number) for number in cls.numbers)):
                continue
            try:
                made.append(cls(self))
            except Exception as error:
                self.off[cls.__name__] = f"{type(error).__name__}: {error}"
                say(f"the check {cls.__name__} cannot start and is off: {self.off[cls.__name__]}")
        self._open = made[1:]
        self.ledger.is_blind = False
        made.append(self.late)
        self.late.watch = self
        self.checks = made

    def _take(self, *things: nn.Module | Optimizer) -> None:
        for thing in things:
            if isinstance(thing, Optimizer):
                self._optimizers.add(innermost(thing))
            elif isinstance(thing, nn.Module):
                self._models.add(thing)

    def _look_around(self) -> list[Optimizer]:
        """Optimizers given, and those alive that hold parameters of the watched models: built before the watch, they
        could otherwise not be known before their first step. What wraps a model (DDP, torch.compile) joins the models.
        """
        found = list(self._optimizers)
        models = self.models
        known = {id(model) for model in models}
        ours = {id(p) for model in models for p in parameters_of(model)}
        kinds: dict[type, Any] = {}  # of all the objects that there are, few are of a kind that matters
        for thing in gc.get_objects() if ours else ():
            kind = kinds.get(type(thing), kinds)
            if kind is kinds:
                kind = kinds[type(thing)] = _kind(type(thing))
            if kind is None:
                continue
            if kind is Optimizer:
                groups = getattr(thing, "param_groups", ())
                if not any(innermost(thing) is other for other in found):
                    if any(id(p) in ours for group in groups for p in group["params"]):
                        found.append(innermost(thing))
            elif id(thing) not in known and any(id(child) in known for child in thing.__dict__.get("_modules", {}).values()):
                known.add(id(thing))
                self._models.add(thing)
        return found

    def _last_words(self, error: BaseException | None) -> None:
        from torchsan.probes import modules

        raised = None
        if training_thread.is_taken(training_thread.holder[0] if self.follows is None else self.follows):
            self.go_blind("a thread trains on while the watch ends", "what the end of a run shows is not looked for")
        if error is not None:
            self.fail(error)
        for check in list(self.checks):
            try:
                self._safely(check, check.finish)
            except SanError as found:
                raised = raised or found
        for found in modules.unraised():
            raised = raised or found
        if raised is not None:
            raise raised

    def _safely(self, check: Any, call: Callable[[], None]) -> None:
        try:
            with events.quiet():
                call()
        except SanError:
            raise
        except Exception as error:
            self.switch_off(check, error)

    def _close(self, check: Any) -> None:
        """A check, or what it has in place, comes to its end."""
        if not any(check is other for other in self._open):
            return
        self._open = [other for other in self._open if other is not check]
        try:
            with events.in_turn(), events.quiet():
                check.is_over = True  # events that are on their way on other threads are not heard any more
                check.close()
        except Exception as error:
            say(f"{type(check).__name__} could not take everything down: {type(error).__name__}: {error}")

    def _meet(self) -> None:
        """Bring together what the ranks found: the first one gets it all. Where it does not, each speaks for itself."""
        self.look_for_ranks()
        self._leave(over=True)
        if self._meeting is None:
            return
        if self._meeting.leads:
            for left in self._meeting.take(in_a_hurry=self._failed):
                self.gathered.join(left.findings)
                if left.rank is not None:
                    self.series_of_ranks[left.rank] = left.series
            return
        self.handed_over = self._meeting.is_taken()
        if not self.handed_over:
            self.gathered.speak()

    def _leave(self, over: bool = False) -> None:
        """Leave what was found so far where another process will look for it, if one will."""
        if self.leaves_at is None and self._meeting is None:
            return
        rank = None if self.me is None else self.me.rank
        left = Left(os.getpid(), rank, self.steps, self.findings, told=not self.gathered.silent, over=over)
        left.series = self.series.brief() if rank is not None else {}
        if self._meeting is not None:
            self._meeting.leave(left)
        elif self.leaves_at is not None:
            try:
                leave(self.leaves_at, left)
            except (OSError, TypeError, ValueError) as error:
                say(f"what was found cannot be handed over: {error}")

    def _release(self) -> None:
        from torchsan.probes import modules

        others = [model for watch in events.running() for model in watch.models]
        modules.remove([m for m in self.models if not any(m is other for other in others)])
        if not events.listening():
            try:
                _patches.undo()
            except Exception as error:
                say(f"something could not be taken down: {type(error).__name__}: {error}")


def watch(
    *models: nn.Module | Optimizer,
    optimizer: Optimizer | Iterable[Optimizer] | None = None,
    on_finding: Literal["warn", "raise", "collect"] | Callable[[Finding], Any] | None = None,
    select: str | Iterable[str] | None = None,
    ignore: str | Iterable[str] | None = None,
    level: Literal["default", "thorough", "memory"] | None = None,
    extend_rules: Iterable[str] | None = None,
    tokenizer: Any = None,
) -> Watch:
    """A watch over a training run: a context manager, a decorator, or an object with `start()` and `stop()`.

    Losses, parameters, gradients and random states are the same, bit for bit, with and without it.

    Args:
        models: what is trained. None need be given: models and optimizers that are built or used meanwhile are found.
        optimizer: an optimizer, or several, where they should be known before they are used.
        on_finding: "warn" (default), "raise" (SanError at the user's call), "collect", or a callable that takes each
            new finding.
        select, ignore: codes ("TS101"), prefixes ("TS1"), names or groups; the longest match decides.
        level: "default", "thorough" (looks that cost more), "memory" (may change numbers and speed).
        extend_rules: folders of rule pages of your own.
        tokenizer: what decodes the ids of a language model's first batch (anything with `decode`), where none is found in
            the running functions.

    Options not given come from TORCHSAN_OPTIONS ("level=thorough:ignore=TS119"), then [tool.torchsan].

    Raises:
        OptionError: an option that does not exist or has a wrong value.
        TypeError: something given is neither a module nor an optimizer.
    """
    optimizers = [] if optimizer is None else [optimizer] if isinstance(optimizer, Optimizer) else list(optimizer)
    modules = []
    for thing in models:
        if isinstance(thing, Optimizer):
            optimizers.append(thing)
        elif isinstance(thing, nn.Module):
            modules.append(thing)
        else:
            raise TypeError(f"watch() takes modules and optimizers, not {type(thing).__name__}")
    given = {
        "on_finding": on_finding,
        "select": select if select is None or isinstance(select, str) else list(select),
        "ignore": ignore if ignore is None or isinstance(ignore, str) else list(ignore),
        "level": level,
        "extend_rules": None if extend_rules is None else [str(path) for path in extend_rules],
    }
    made = Watch(modules, optimizers, gather(given))
    made.tokenizer = tokenizer
    made._made_at = here()
    _made.add(made)
    return made


def _at_exit() -> None:
    for one in _made:
        one.say_if_never_begun()


atexit.register(_at_exit)  # who is held to the end by a variable of the program's dies too late to say anything


def _kind(cls: type) -> type | None:
    """Optimizer, or Module for what wraps a model; None for all else."""
    if Optimizer in cls.__mro__:
        return Optimizer
    return nn.Module if nn.Module in cls.__mro__ and cls.__name__ in WRAPPERS else None
