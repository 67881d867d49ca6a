"""The event graph: what may happen after what, and the questions that rules ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchlint.dryrun.alternatives import conditions
from torchlint.dryrun.guards import Guard
from torchlint.dryrun.values import Event, Instance, Loop, exclude_each_other


class Graph:
    """Events and the order they may happen in. `tails` are the events after which the next one comes; `made` gets every event
    that ever was in it."""

    def __init__(self, made: list[Event] | None = None):
        self.made = [] if made is None else made
        self.events: list[Event] = []
        self.start = Event("start", None, None, (), (), {})
        self.made.append(self.start)
        self.tails: list[Event] = [self.start]

    @property
    def dead(self) -> bool:
        """Whether nothing can come here: after a return, on all paths."""
        return not self.tails

    def add(self, event: Event) -> Event:
        self.events.append(event)
        self.made.append(event)
        self.link(event)
        self.tails = [event]
        return event

    def link(self, event: Event, tails: Iterable[Event] | None = None) -> None:
        """Lets `event` come after each of the tails."""
        for tail in self.tails if tails is None else tails:
            if event not in tail.next:
                tail.next.append(event)
                event.prev.append(tail)

    def mark(self) -> tuple[int, list[Event], list[int]]:
        """Remembers how the graph stands, for `undo`."""
        return len(self.events), list(self.tails), [len(tail.next) for tail in self.tails]

    def undo(self, mark: tuple[int, list[Event], list[int]]) -> None:
        """Forgets everything since the mark."""
        count, tails, sizes = mark
        del self.events[count:]
        self.tails = list(tails)
        for tail, size in zip(tails, sizes):
            del tail.next[size:]


def take_apart(events: list[Event]) -> None:
    """Empties events that nobody asks about any more. They know each other and what they are about, in circles: left to the
    garbage collector, that takes a fifth of the time of a run over many files."""
    for event in events:
        event.next = event.prev = event.loops = event.calls = ()
        event.subject = event.data = None
    events.clear()


def after(
    start: Event, stop: Callable[[Event], bool], within: Loop | None = None, beside: Event | None = None
) -> tuple[list[Event], bool]:
    """The first events after `start`, on any path, for which `stop` is true; and whether a path ends without one.
    Paths that leave the loop `within` end there and do not count; nor do those on which `beside` does not happen."""
    return _walk(start, stop, within, True, beside)


def happens_after(start: Event, wanted: Callable[[Event], bool]) -> bool:
    """Whether an event that is wanted may happen after `start`, on some path."""
    return bool(_walk(start, wanted, None, True, None, one_is_enough=True)[0])


def following(start: Event) -> set[Event]:
    """All events to which some path leads from `start`, whatever the conditions: what is not among them comes before."""
    found: set[Event] = set()
    todo = list(start.next)
    while todo:
        event = todo.pop()
        if event not in found:
            found.add(event)
            todo.extend(event.next)
    return found


def before(start: Event, stop: Callable[[Event], bool], within: Loop | None = None) -> tuple[list[Event], bool]:
    """The same, backward in time."""
    return _walk(start, stop, within, False, None)


def leading_to(targets: Iterable[Event], stop: Callable[[Event], bool]) -> set[Event]:
    """The events after which, on some path, one of the targets is the first event for which `stop` is true."""
    found: set[Event] = set()
    todo = [event for target in targets for event in target.prev]
    while todo:
        event = todo.pop()
        if event not in found:
            found.add(event)
            todo.extend(() if stop(event) else event.prev)
    return found


def _walk(start, stop, within, forward, beside, one_is_enough=False):
    """What stands under the contrary of a condition that `start` stands under is on no path from it: not in the same round of
    the loops in which that condition may change."""
    found: list[Event] = []
    seen: set[tuple[Event, bool]] = set()
    ends = False
    guards = (*_path_of(start), *_made_under(start))
    if beside is not None:
        guards += (*_path_of(beside), *_made_under(beside))
    contrary = {guard.condition: guard for guard in guards}
    numbers = [guard for guard in contrary.values() if guard.compared is not None]
    changing = {loop for guard in guards for loop in guard.varies}
    todo = [(event, False) for event in (start.next if forward else start.prev)]
    if not todo:
        ends = True
    while todo:
        place = todo.pop()
        if place in seen:
            continue
        seen.add(place)
        event, later = place
        if within is not None and within not in event.loops:
            continue
        if contrary and _excluded(_path_of(event), contrary, numbers, later):
            continue
        # What is about an object that is not there is no event; the path goes on behind it.
        if not (contrary and _excluded(_made_under(event), contrary, numbers, later)) and stop(event):
            if one_is_enough:
                return [event], False
            if event not in found:
                found.append(event)
            continue
        if changing and event.kind == "loop" and event.get("loop") in changing:
            later = True
        onward = event.next if forward else event.prev
        if not onward:
            ends = True
        todo.extend((other, later) for other in onward)
    return found, ends


def may_meet(one: Event, other: Event) -> bool:
    """Whether two events may happen in one round of all loops, as far as their conditions tell."""
    return not exclude_each_other(_path_of(one), _path_of(other))


def _path_of(event: Event) -> tuple[Guard, ...]:
    """The conditions that an event stands under, with those under which its subject is that one of several."""
    if event.data is None:
        return ()
    guards, choice = event.data.get("guards", ()), event.data.get("choice", ())
    return (*guards, *choice) if choice else guards


def _made_under(event: Event) -> tuple[Guard, ...]:
    """The conditions under which there is what an event is about."""
    subject = event.subject
    return conditions(subject) if type(subject) is Instance and subject.under else ()


def _excluded(guards: tuple[Guard, ...], contrary: dict[tuple, Guard], numbers: list[Guard], later: bool) -> bool:
    """`numbers` are those of `contrary` that say something of a number."""
    for guard in guards:
        mine = contrary.get(guard.condition)
        if mine is not None:
            if mine.when is not guard.when and not (later and mine.varies):
                return True
        elif numbers and guard.compared is not None and any(its.excludes(guard) and not (later and its.varies) for its in numbers):
            return True
    return False


def common_loop(a: Event, b: Event) -> Loop | None:
    """The innermost loop that both events are in."""
    shared = None
    for one, other in zip(a.loops, b.loops):
        if one is not other:
            break
        shared = one
    return shared
