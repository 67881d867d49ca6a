"""525: Dropout2d and its like on inputs of another rank."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.reached import may_be_dead

CODE = 525
# By layer and number of dimensions: what happens instead.
_INSTEAD = {
    ("Dropout1d", 2): "takes (N, F) for one example of (C, L), and drops whole examples",
    ("Dropout2d", 2): "drops single values there, as `Dropout` does, and warns that it will raise one day",
    ("Dropout3d", 2): "drops whole rows there, examples of a batch, and warns that it will raise one day",
    ("Dropout3d", 3): "drops along the first two dimensions there, and warns that it will raise one day",
    ("InstanceNorm1d", 2): "takes (N, F) for one example of (C, L), and normalizes each row over its features",
}
_USE = {"InstanceNorm1d": "`LayerNorm` or `BatchNorm1d`"}


def check(view: View) -> Iterator[Report]:
    """`Dropout2d` behind a flatten."""
    yield from once(_reports(view))


def _reports(view: View) -> Iterator[Report]:
    for event in view.of("rank"):
        instead = _INSTEAD.get((event.layer, event.shape.rank))
        # Two dimensions of which the first is known may well be one example.
        unbatched = event.layer in ("Dropout1d", "InstanceNorm1d") and event.shape.dims[0] is not None
        if instead is None or unbatched or may_be_dead(event):
            continue
        made = event.subject.site if event.subject is not None else None
        site = made if event.chained and made is not None else event.site
        related = []
        if event.source is not None and event.source.node is not site.node:
            related.append((event.source, f"its input has {event.shape.rank} dimensions from here on"))
        if made is not None and made.node is not site.node:
            related.append((made, "the layer is made here"))
        use = _USE.get(event.layer, "`Dropout`")
        yield Report(
            CODE, site, {"layer": event.layer, "rank": str(event.shape.rank), "instead": instead, "use": use}, related
        )
