"""604: worker processes are started again for every epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, option, workers

CODE = 604


def check(view: View) -> Iterator[Report]:
    """A loader with workers that a loop goes through several times, without `persistent_workers`."""
    for event, loader in created(view):
        if (
            option(loader, "num_workers") is None
            or workers(loader) == 0
            or option(loader, "persistent_workers") is not None
        ):
            continue
        passes = [
            other
            for other in view.of("loader.iterate")
            if other.subject is loader and len(other.loops) > len(event.loops)
        ]
        if passes and "persistent_workers" not in loader.kwargs:
            yield Report(
                CODE,
                event.site,
                {"loader": loader.name or "the loader"},
                [(passes[0].site, "each pass starts them anew")],
            )
