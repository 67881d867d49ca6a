"""Where the state that a model is filled with was read from a file: as it is, or put together of what was read."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Dict, Event, Opaque, Value, real
from torchlint.rules.base import View

_LONGEST = 4  # steps from what is taken out of a file to the file


def reads_of(view: View, load: Event) -> Iterator[Site]:
    """The calls of `torch.load` that what a load is given came out of."""
    yield from read_as_it_is(load.get("state"))
    for part in _parts(view, load):
        yield from read_as_it_is(part)


def read_as_it_is(value: Value | None) -> Iterator[Site]:
    """The calls of `torch.load` that gave a value, or what it was taken out of."""
    for alt in real(value):
        for _ in range(_LONGEST):
            if isinstance(alt, Opaque) and "loaded" in alt.tags and alt.site is not None:
                yield alt.site
            alt = alt.origin if isinstance(alt, Opaque) else None
            if alt is None:
                break


def _parts(view: View, load: Event) -> Iterator[Value]:
    """What a state is put together of: the items of a dict, `{key[7:]: value for ...}`, and what was put in before the load:
    `own[key] = value`, `own.update(read)`."""
    whole = real(load.get("state"))
    yield from _items(view, whole)
    for event in view.of("item.set"):
        if event.serial < load.serial and any(alt in whole for alt in real(event.subject)):
            yield event.value
    for event in view.of("unknown"):
        if event.get("name") == "update" and event.serial < load.serial and event.subject in whole and event.args:
            yield event.args[0]
            yield from _items(view, real(event.args[0]))


def _items(view: View, values: tuple[Value, ...]) -> Iterator[Value]:
    for alt in values:
        items = view.run.items_now(alt) if isinstance(alt, Dict) else None
        yield from items.known.values() if items is not None else ()
