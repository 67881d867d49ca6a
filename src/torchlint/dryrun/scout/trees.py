"""Which trees a run, or a finding, is about: those that libcst has to parse before anything is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchlint.dryrun.scout.unit import Light
from torchlint.dryrun.source_text import Parsed
from torchlint.dryrun.values import Event


def complete(trees: Iterable[Parsed]) -> bool:
    """Has libcst parse those of some trees that only the scout knows; whether there were any.

    Raises:
        Unlike: libcst reads one of them otherwise.
    """
    found = {id(tree): tree for tree in trees if isinstance(tree, Light) and not tree.is_whole}
    for tree in found.values():
        tree.complete()
    return bool(found)


def trees_of(events: Iterable[Event]) -> Iterator[Parsed]:
    """The trees that events are placed in, and what is around them and led to them."""
    for event in events:
        around = (*event.loops, *event.data.get("contexts", ()))
        sites = (event.site, *event.calls, *(part.site for part in around), *(site for site, _ in event.data.get("guards", ())))
        yield from (site.parsed for site in sites if site is not None)
