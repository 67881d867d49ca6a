"""Calls that need no second run: what a call with nothing but plain values did, and for which other calls that is the same.

A call is plain where all its events are about plain values (`plain`) and all that it wrote and gives back is plain. What it asked
of the store is kept with it: a later call whose arguments are alike, and for which the store answers alike, does the same. It is
not run: its writes and its value are made anew, and of its events only the calls that cannot be seen: these may stand in
somebody's way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlint.catalogue.protocols import IMPLIED
from torchlint.dryrun.frame import Frame
from torchlint.dryrun.likeness import Likeness
from torchlint.dryrun.plain import IN_THE_WAY, TAGS, born, closes_over, items_of
from torchlint.dryrun.store import Items
from torchlint.dryrun.values import Const, Dict, Event, Func, Instance, Iter, Member, Method, Opaque, Seq, Union, Value, now, real
from torchlint.sieve.facts import Unit

LEAST = 8  # steps of a call that is worth it
MOST_KEPT = 4  # summaries of one function
MOST_MISSED = 40  # comparisons of a function's calls that led to nothing, after which it is simply run
MOST_ASKED = 2_000
MOST_EVENTS = 400
MOST_NESTED = 4  # tuples in tuples


class Call:
    """A call that is being run: how things stood when it began."""

    __slots__ = ("asked", "before", "cuts", "events", "graph", "outer", "short", "since", "steps", "units")

    def __init__(self, run):
        self.since = now()
        self.asked, self.cuts, self.outer, self.units = len(run.store.asked), len(run.cuts), len(run.outer), len(run.units)
        self.graph, self.events, self.steps, self.short = run.graph, len(run.graph.events), run.steps, run.cut_short
        self.before: list[tuple[Any, str, Any]] = []


class Summary:
    """What a call did. `asked` is what the store answered, in order; `made` what is in the objects that it made."""

    __slots__ = ("args", "asked", "barriers", "first", "given", "kwargs", "made", "shown", "since", "units", "writes")


class Summaries:
    """The part of a run that knows calls again. See `interpreter.Run` for the state it works on."""

    # -- what is kept ---------------------------------------------------------------------------------------------

    def call_begins(self, func: Func) -> Call | None:
        """What has to be known of a call before it is run; None for a function's first one: most are called once."""
        if not self.kept_open:
            del self.store.asked[:]
        if func.frame is not None or func.key not in self.called_before:
            self.called_before.add(func.key)
            return None
        if not self.world.summaries:
            return None
        self.kept_open += 1
        return Call(self)

    def call_ran(self, call: Call | None, frame: Frame, args, kwargs) -> bool:
        """Whether a call that has just run was plain, as far as its events tell: then what it asked for is looked up."""
        if call is None or self.graph is not call.graph or self.cut_short != call.short or self.steps - call.steps < LEAST or frame.yields or not frame.returns:
            return False
        events = self.graph.events[call.events :]
        depth = len(self.stack)
        if len(events) > MOST_EVENTS or any(place < depth for place in self.cuts[call.cuts :]):
            return False
        if any(made < call.since for made in self.outer[call.outer :]):
            return False
        for event in reversed(events):
            if not self.plain.event(event, call.since):
                return False
        asked = dict.fromkeys(self.store.asked[call.asked :])
        if len(asked) > MOST_ASKED:
            return False
        return self._look_up(call, asked, [*args, *kwargs.values()])

    def _look_up(self, call: Call, asked: dict[tuple[Any, str], None], given: list[Value]) -> bool:
        """What the store answers to what a call asked; False where it came by something in another way."""
        known: set[int] = set()
        for value in given:
            _note(value, known)
        for owner, name in asked:
            if id(owner) not in known and isinstance(owner, Value):
                made = born(owner)
                if made is not None:
                    if made >= call.since:
                        continue
                    return False
                known.add(id(owner))
            value = self.store.peek(owner, name)
            call.before.append((owner, name, value))
            _note(value, known)
        return True

    def call_ended(self, call: Call, returns, func: Func, args, kwargs, value: Value) -> None:
        """Keeps what a call did, if that was plain."""
        since = call.since
        if not self._plain_whole(value) or closes_over(value, since):
            return
        keys = {key: None for writes, _, _ in returns for key in writes if type(key[0]) is not Frame}
        known = {id(owner) for owner, _, _ in call.before} | {id(item) for item in (*args, *kwargs.values())}
        summary = Summary()
        summary.writes, summary.made = [], {}
        for owner, name in keys:
            written = self.store.data.get((owner, name))
            made = born(owner) if isinstance(owner, Value) else None
            if name == " truth":  # of an argument, in a branch that is over
                continue
            if name[0] == " " or not self._written_plain(written) or closes_over(written, since):
                return
            if made is not None and made >= since:
                summary.made.setdefault(id(owner), []).append((name, written))
            elif made is not None and id(owner) not in known:
                return
            else:
                old = next((value for one, asked, value in call.before if one is owner and asked == name), None)
                summary.writes.append((owner, name, written, old))
        events = self.graph.events[call.events :]
        distinct = {(event.kind, event.site): event for event in events if event.kind in IN_THE_WAY}
        summary.barriers = list(distinct.values())
        summary.first = (call.events, events[0] if events else None)
        summary.args, summary.kwargs, summary.asked, summary.given, summary.since = list(args), dict(kwargs), call.before, value, since
        summary.units = frozenset(self.units[call.units :])
        summary.shown = bool(events) and self._shown(summary.units)
        kept = self.summaries.setdefault(func.key, [])
        kept[:] = [one for one in kept if self._is_there(one)]
        kept.insert(0, summary)
        del kept[MOST_KEPT:]

    def _written_plain(self, written: Any) -> bool:
        if isinstance(written, Items):
            return all(map(self._plain_whole, items_of(written)))
        return self._plain_whole(written) if isinstance(written, Value) else self.plain.written(written)

    def _plain_whole(self, value: Value, depth: int = 0) -> bool:
        """Whether a value is plain, and what is in it where it is a tuple: of what is in others, the store tells that it was written."""
        if not self.plain(value) or depth > MOST_NESTED:
            return False
        for alt in real(value):
            items = self.store.peek(alt, "[]") if isinstance(alt, Seq) and alt.kind == "tuple" else None
            if items is not None and not all(self._plain_whole(item, depth + 1) for item in items_of(items)):
                return False
        return True

    def _shown(self, units: frozenset[Unit]) -> bool:
        """Whether some rule may have anything to say of what stands in some functions, whatever it is about."""
        words = set().union(*(unit.words for unit in units))
        for name in IMPLIED.keys() & words:
            words |= IMPLIED[name]
        return self.met(words)

    def _is_there(self, summary: Summary) -> bool:
        """Whether the events of a call are still there, if anybody may ask for them: those of a loop's first pass are gone."""
        place, first = summary.first
        events = self.graph.events
        return not summary.shown or first is None or place < len(events) and events[place] is first

    # -- what is known again --------------------------------------------------------------------------------------

    def known_again(self, func: Func, args, kwargs, node) -> Value | None:
        """What a call gives that need not be run, with all that it does; None where it must be run."""
        kept = self.summaries.get(func.key) if self.world.summaries else None
        if not kept or func.frame is not None or self.missed.get(func.key, 0) > MOST_MISSED:
            return None
        for summary in kept:
            if self._is_there(summary):
                pairs = self._pairs(summary, args, kwargs)
                if pairs is not None:
                    return self._again(summary, pairs, node)
        self.missed[func.key] = self.missed.get(func.key, 0) + 1
        return None

    def _pairs(self, summary: Summary, args, kwargs) -> dict[int, object] | None:
        """What stands for what, where a call is like the one that was kept."""
        if len(args) != len(summary.args) or kwargs.keys() != summary.kwargs.keys():
            return None
        alike = Likeness(self.plain)
        if not all(map(alike, summary.args, args)) or not all(alike(value, kwargs[name]) for name, value in summary.kwargs.items()):
            return None
        for owner, name, value in summary.asked:
            mine = alike.pairs.get(id(owner), owner)
            found = self.store.get(mine, name) if mine is not None else None
            if found is None and _made_by_asking(value, owner):
                alike.pairs[id(value)] = None
            elif value is None and found is not None and _made_by_asking(found, mine):
                continue
            elif found is not value and not alike(value, found):
                return None
        return alike.pairs

    def _again(self, summary: Summary, pairs: dict[int, object], node) -> Value:
        """Does what a call did."""
        self.steps += 1
        self.units.extend(summary.units)
        self.entered.update(map(id, summary.units))
        copy = _Copy(self, summary, pairs)
        for event in summary.barriers:
            self._emit_again(event, copy, node)
        for owner, name, value, old in summary.writes:
            mine = pairs.get(id(owner), owner)
            if mine is None:
                continue
            if isinstance(value, Items):
                self.store.set(mine, name, _grown(self.store.peek(mine, name), old, value, copy))
            else:
                self.store.set(mine, name, copy(value))
        return copy(summary.given)

    def _emit_again(self, event: Event, copy: Callable[[Any], Any], node) -> None:
        parsed, sites = self.parsed, self.call_sites
        if node is not None:
            self.call_sites = (*sites, self.site(node))
        self.parsed = event.site.parsed
        args = [copy(value) for value in event.get("args", ())]
        self.emit(event.kind, copy(event.subject) if event.subject is not None else None, event.site.node, name=event.get("name"), args=args)
        self.parsed, self.call_sites = parsed, sites


def _note(value: Any, known: set[int]) -> None:
    """Notes what can be come by through a value without the store."""
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, Items):
            todo.extend(value.known.values() if isinstance(value.known, dict) else value.known)
        elif isinstance(value, Union):
            todo.extend(value.alts)
        elif isinstance(value, Value) and id(value) not in known:
            known.add(id(value))
            if isinstance(value, Method):
                todo.append(value.owner)
            elif isinstance(value, Iter):
                todo.append(value.base)


def _made_by_asking(value: Any, owner: Any) -> bool:
    """Whether an attribute or item is one that only the question has brought about."""
    return type(value) is Opaque and value.source in ("attr", "item") and value.origin is owner and value.tags <= TAGS


def _grown(mine: Any, old: Any, new: Items, copy: Callable[[Any], Any]) -> Items:
    """The items of a container to which a call adds what it has added to another one."""
    if not isinstance(mine, Items) or type(mine.known) is not type(new.known):
        known = {key: copy(item) for key, item in new.known.items()} if isinstance(new.known, dict) else tuple(map(copy, new.known))
        return Items(known, True)
    if isinstance(new.known, dict):
        had = old.known if isinstance(old, Items) else {}
        more = {key: copy(item) for key, item in new.known.items() if had.get(key) is not item}
        return Items({**mine.known, **more}, mine.open or new.open, mine.of_known_kinds and new.of_known_kinds)
    had = old.known if isinstance(old, Items) else ()
    added = tuple(copy(item) for item in new.known if not any(item is one for one in had))
    known = (*mine.known, *added)
    return Items(known[-12:], True, mine.of_known_kinds and new.of_known_kinds and len(known) <= 12)


class _Copy:
    """Makes anew what a call made."""

    __slots__ = ("pairs", "run", "summary")

    def __init__(self, run, summary: Summary, pairs: dict[int, object]):
        self.run, self.summary, self.pairs = run, summary, dict(pairs)

    def __call__(self, value: Any) -> Any:
        if id(value) in self.pairs:
            return self.pairs[id(value)] or Opaque("", "attr")
        kind = type(value)
        if kind is Const or kind is Member or not isinstance(value, Value):
            return value
        if kind is Union:
            return Union(tuple(map(self, value.alts)))
        if kind is Method:
            return Method(self(value.owner), value.name, value.func)
        made = born(value)
        if made is None or made < self.summary.since:
            return value
        new = self.pairs[id(value)] = self._new(value)
        for name, inner in self.summary.made.get(id(value), ()):
            self.run.store.set(new, name, self._items(inner) if isinstance(inner, Items) else self(inner))
        return new

    def _new(self, value: Any) -> Value:
        run, kind = self.run, type(value)
        if kind is Opaque:
            parts = frozenset([self.pairs.get(id(part)) or part for part in value.parts])
            origin = self.pairs.get(id(value.origin), value.origin) if value.origin is not None else None
            return Opaque(value.name, value.source, value.site, value.flows, parts, origin, value.tags)
        if kind is Instance:
            new = Instance(value.cls, value.kind, value.site, list(map(self, value.args)), {name: self(item) for name, item in value.kwargs.items()})
            new.name, new.complete = value.name, value.complete
            run.made_here(new)
            return new
        if kind is Iter:
            return Iter(value.kind, self(value.base), value.site, value.once)
        new = Seq(value.kind, value.site) if kind is Seq else Dict(value.site)
        new.flows, new.parts = value.flows, value.parts
        run.made_in[id(new)] = run.loops
        run.keep.append(new)
        if kind is Seq and id(value) not in self.summary.made:
            items = run.store.peek(value, "[]")
            if items is not None:
                run.store.set(new, "[]", self._items(items))
        return new

    def _items(self, items: Items) -> Items:
        known = items.known
        return Items({key: self(item) for key, item in known.items()} if isinstance(known, dict) else tuple(map(self, known)), items.open, items.alike)
