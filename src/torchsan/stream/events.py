"""The event stream: probes tell what happens, checks hear it.

Probes are installed once per process; every running watch hears them. An event that nobody listens to costs one
dictionary look-up. Names are those of `torchlint.catalogue.vocabulary.EVENTS`; what an event carries beside its name and subject
is written there and in the probe that makes it.

For a probe:

    event = begin("backward", tensors, loss=loss)   # before the call; None where nobody listens
    ...                                             # the call itself
    end(event)                                      # after it, with what is known now as attributes of `event`
    happened("optimizer.zero_grad", optimizer)      # both at once, for what has no inside

For a check: methods called `before_backward`, `on_backward` (dots become underscores) are found by name. A check that
learns only at run time what it wants to hear has a dictionary `hears` of event names and handlers (told afterwards).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from threading import get_ident
from typing import Any

from torchlint.catalogue import vocabulary
from torchsan.own import os, threading, torch, weakref
from torchsan.program.compiled import never_compiled
from torchsan.program.walks import of_this_event
from torchsan.program.where import Where, here
from torchsan.report.deliver import SanError
from torchsan.stream import training_thread
from torchsan.stream.collector import patient
from torchsan.stream.modes import aside
from torchsan.stream.resting_checks import Plan, Rest


class Event:
    """Something that happened, to `subject` (an optimizer, a module, a loader ...). Other attributes by name of event.

    `number` counts the events of the process, so that two events can be put in order. A check may keep an event: when
    it is over it lets go of tensors, arguments and results, and holds its subject weakly (None once that is gone), so
    that nothing of the program lives longer for being watched.
    """

    name: str
    number: int
    subject: Any
    _where: Where | None = None
    _gone: Any = None  # a weak reference to the subject, once the event is over

    def __init__(self, name: str, subject: Any, info: dict[str, Any]):
        # Events come several times a step: `info` is theirs alone, so it may as well be their dictionary.
        info["name"], info["subject"], info["number"] = name, subject, next(_numbers)
        self.__dict__ = info

    def where(self) -> Where | None:
        """The user's line that made the event. To be asked while the event is being told; kept from then on."""
        if self._where is None:
            self._where = here()
        return self._where

    def let_go(self) -> None:
        """Hold nothing of the program any longer."""
        own = self.__dict__
        for key in _HELD.get(self.name, _OTHERS):
            own.pop(key, None)
        if type(own.get("subject")) is not str:
            try:
                own["_gone"] = _ref(own.pop("subject", None))
            except TypeError:
                pass

    def __getattr__(self, name: str) -> Any:
        if name == "subject":
            gone = self._gone
            return None if gone is None else gone()
        # An event of another torch version or a framework may lack a detail: a check then sees None, not an error.
        if name.startswith("__"):
            raise AttributeError(name)
        return None


# What probes put on events that belongs to the program, for the events of every step by name. Handlers must not put
# more of the program's tensors there.
_OTHERS = ("args", "batch", "child", "error", "input", "inputs", "kwargs", "loss", "optimizer", "output", "parameter")
_OTHERS += ("result", "roots", "scaled", "target")
_HELD: dict[str, tuple[str, ...]] = {
    "backward": ("roots", "inputs"),
    "forward": ("args", "kwargs", "output"),
    "loss": ("input", "target", "args", "kwargs", "result", "error"),
    "optimizer.step": (),
    "optimizer.zero_grad": (),
}


_numbers = itertools.count(1)
_ref = weakref.ref


def _none() -> None:
    return None


# Inside torch.func's transforms (vmap, grad) tensors stand for others, and have no values that could be read. While
# torch.jit.trace writes down what a model does, what checks do would be part of it.
_transforms = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", _none)
_tracing = getattr(torch._C, "_get_tracing_state", _none)


# Threads that do a check's own work, and how deep in it. No `threading.local`: it is asked several times a step, and to
# read one takes longer than all that an event at rest has to do besides.
quiet_threads: dict[int, int] = {}
_lock = threading.RLock()


def _after_fork() -> None:
    """A thread that is not in the new process may have held the lock; and the new one is not inside of a handler."""
    global _lock
    _lock = threading.RLock()
    quiet_threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
_listeners: list[Any] = []  # watches that are running, in the order they started
_Handlers = tuple[tuple[Any, Callable[["Event"], None]], ...]
_heard: dict[str, tuple[_Handlers, _Handlers]] = {}  # by event: who hears it before, and after
_always: dict[str, tuple[_Handlers, _Handlers]] = {}  # those of them who hear it while the others rest
rest = Rest()
_alone = [False]  # whether some watch hears one thread only
_LARGEST_LOOKS = 200  # tellings: in the first ten steps or so all that there is of a model is looked at, and kept
_first_tellings = [0]
_NO_CHANGE = nullcontext()


def listening() -> bool:
    """True while any watch is running."""
    return bool(_listeners)


def running() -> tuple[Any, ...]:
    """The running watches, outermost first."""
    return tuple(_listeners)


def refresh() -> None:
    """Look again who listens to what: called when a watch starts or stops, or a check is switched off."""
    before: dict[str, list] = {}
    after: dict[str, list] = {}
    for watch in _listeners:
        for check in watch.checks:
            for method, table, name in _handlers(type(check)):
                (before if table == "before" else after).setdefault(name, []).append((check, getattr(check, method)))
            for name, handler in getattr(check, "hears", {}).items():
                after.setdefault(name, []).append((check, handler))
    global _heard, _always
    _heard = {name: (tuple(before.get(name, ())), tuple(after.get(name, ()))) for name in (*before, *after)}
    _always = {
        name: kept
        for name, both in _heard.items()
        if any(kept := tuple(tuple(one for one in some if _hears_at_rest(one[0], name)) for some in both))
    }
    rest.reset(running(), _listens_at_rest)


def _hears_at_rest(check: Any, name: str) -> bool:
    return getattr(check, "always", False) and name not in getattr(check, "asleep_to", ())


def _listens_at_rest(plan: Plan) -> tuple | None:
    """The quick looks before and after an event of those who hear it while the others rest; empty where they are to be told
    each time, None where nobody hears it."""
    both = _always.get(plan.name)
    if both is None:
        return None
    method = plan.name.replace(".", "_")
    checks = {id(check): check for some in both for check, _ in some}.values()
    try:
        before = [getattr(check, f"quick_before_{method}")(plan) for check in checks]
        after = [make(plan) for check in checks if (make := getattr(check, f"quick_on_{method}", None)) is not None]
    except Exception:  # one has none, or fails in making it: if it fails in what it is told too it is switched off
        return ()
    return _together(before), _together(after)


def _together(looks: list[Callable[..., bool]]) -> Callable[..., bool]:
    """One look that is calm where all are."""
    look = looks[0] if len(looks) == 1 else lambda *given: all([look(*given) for look in looks])
    never_compiled(look.__code__, all_that_it_calls=True)
    return look


_NAMES = {name.replace(".", "_"): name for name in vocabulary.EVENTS}


@lru_cache(maxsize=None)
def _handlers(cls: type) -> tuple[tuple[str, str, str], ...]:
    """The handlers of a class of checks: method, "before" or "on", name of the event."""
    found = []
    for method in dir(cls):
        table, _, event = method.partition("_")
        if table in ("before", "on") and event:
            if event not in _NAMES:
                raise TypeError(f"{cls.__name__}.{method}: no event is called {event!r}")
            found.append((method, table, _NAMES[event]))
    return tuple(found)


def not_calm(plan: Plan, subject: Any, info: dict[str, Any]) -> None:
    """After an event that went the short way not all is as ever: those are told who hear it at rest."""
    end(Event(plan.name, subject, {**info, "rested": True}))


def begin(name: str, subject: Any, /, **info: Any) -> Event | None:
    """An event starts: tells it to those who want to know before, and gives it back for `end`. None: nobody listens."""
    rested = False
    plan = rest.now
    if plan is not None and not (quiet_threads and get_ident() in quiet_threads):
        is_same = name == plan.name and (not plan.who or plan.who == id(subject))
        if is_same and get_ident() == rest.thread and plan.fits(info):
            rest.now = plan.then
            if not plan.matters:
                return None
            rested = True
            if plan.accounts is not None:
                rest.missed_step(plan)
    heard = (_always if rested else _heard).get(name)
    if heard is None or (quiet_threads and get_ident() in quiet_threads) or _transforms() is not None or _tracing() is not None:
        return None
    if not rested:
        if name in training_thread.TRAINING:
            first = training_thread.holder[0]
            is_out = get_ident() != first and training_thread.is_out_of_turn(name, info)
            before = training_thread.used(name, subject, info)
            if is_out or (before is not None and _alone[0]):
                _part(first, subject, before)
                heard = _heard.get(name, ((), ()))
        if rest.possible:
            rest.hears(name, subject, info)
    info["rested"] = rested
    event = Event(name, subject, info)
    if heard[0]:
        _tell(heard[0], event)
    return event


def end(event: Event | None) -> None:
    """The event is over: tells it to those who want to know after. Does nothing with None."""
    if event is not None:
        heard = (_always if event.rested else _heard).get(event.name)
        if heard is not None and heard[1] and not (quiet_threads and get_ident() in quiet_threads):
            _tell(heard[1], event)
        elif event.rested:
            return  # nobody keeps it
        event.let_go()


for _ours in (not_calm, begin, end, Rest.missed_step):
    never_compiled(_ours.__code__, all_that_it_calls=True)


def happened(name: str, subject: Any, /, **info: Any) -> None:
    """An event without an inside."""
    end(begin(name, subject, **info))


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing that this thread does inside is told to anybody: for a check's own work, such as a replay."""
    me = get_ident()
    quiet_threads[me] = quiet_threads.get(me, 0) + 1
    try:
        with aside():
            yield
    finally:
        left = quiet_threads.get(me, 0) - 1
        if left > 0:
            quiet_threads[me] = left
        else:
            quiet_threads.pop(me, None)


def is_transformed() -> bool:
    """Whether this thread is inside one of torch.func's transforms or of torch.jit.trace: tensors stand for others."""
    return _transforms() is not None or _tracing() is not None


def is_quiet() -> bool:
    """Whether this thread does a check's own work."""
    return get_ident() in quiet_threads


def _tell(heard: _Handlers, event: Event) -> None:
    # What a handler does itself (a look at a value, a replay) must not come back as events.
    me = get_ident()
    if _alone[0] and not training_thread.in_autograd():
        heard = tuple(one for one in heard if getattr(one[0].watch, "follows", None) in (None, me))
    is_first = _first_tellings[0] > 0
    if is_first:
        _first_tellings[0] -= 1
    with _lock, patient() if is_first else _NO_CHANGE, aside():
        quiet_threads[me], of_this_event[me] = 1, {}
        try:
            for check, handler in heard:
                if getattr(check, "is_over", False):
                    continue  # ended on another thread while this one waited for its turn
                try:
                    handler(event)
                except SanError:
                    raise
                except Exception as error:
                    check.watch.switch_off(check, error)
        finally:
            quiet_threads.pop(me, None)
            of_this_event.pop(me, None)


def _part(first: int | None, subject: Any, before: int | None) -> None:
    """Two threads train at the same time, or one takes up what another one trained: each watch sees to whom it listens."""
    with _lock, quiet():  # no check may be at it
        for watch in running():
            watch.follow(first, subject, before)
        _alone[0] = any(watch.follows is not None for watch in running())


@contextmanager
def in_turn() -> Iterator[None]:
    """No handler of another thread runs meanwhile. One that takes seconds, or that died in the midst, is not waited
    for."""
    lock = _lock  # in a forked process there is a new one
    held = lock.acquire(timeout=2)
    try:
        yield
    finally:
        if held:
            lock.release()


def join(watch: Any) -> None:
    """A watch starts to listen."""
    if not _listeners:
        training_thread.begin()
        _alone[0] = False
    _listeners.append(watch)
    _first_tellings[0] = _LARGEST_LOOKS
    refresh()


def leave(watch: Any) -> None:
    """A watch stops listening."""
    if watch in _listeners:
        _listeners.remove(watch)
    refresh()
