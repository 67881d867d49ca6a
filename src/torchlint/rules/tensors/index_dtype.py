"""411: indices that are no integers of a kind that torch takes, and masks that are not `torch.bool`."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Value
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import dtype_of

CODE = 411
WIDE = {
    "torch.gather": 2, "torch.scatter": 2, "torch.scatter_add": 2, "torch.index_select": 2, "torch.index_add": 2,
    "torch.nn.functional.embedding": 0,
}
ONLY_LONG = {"torch.take_along_dim": 1, "torch.nn.functional.one_hot": 0}
MASKED = {"masked_fill": 1, "masked_fill_": 1, "masked_select": 1, "masked_scatter": 1, "masked_scatter_": 1}
CALLS = frozenset({*WIDE, *ONLY_LONG, *(f"torch.{name}" for name in MASKED), *(f".{name}" for name in MASKED)})
GOOD = frozenset({"int32", "int64"})
_BOOL_ALONE = (2, 1)  # the first release that refuses masks of `uint8`, which were deprecated in 1.2
_OF_MASKS = (
    "`{call}` raises: `{name}` takes no mask of `{dtype}` since torch 2.1",
    "make the mask `torch.bool`: compare, or call `.bool()`",
)
_QUOTIENT = (
    "`{call}` raises: `/` gives floating-point numbers, also where it divides integers, and they are no index",
    "divide with `//`",
)
_TRUE_DIVISION = (1, 6)  # the first release in which `/` of two tensors of integers is no longer theirs


def check(view: View) -> Iterator[Report]:
    """`nn.Embedding(...)(x.float())`, `torch.gather(x, 1, y.float())`, `F.one_hot(y.int())`."""
    for event in view.of("forward"):
        layer = event.subject
        if isinstance(layer, Instance) and layer.type in ("torch.nn.Embedding", "torch.nn.EmbeddingBag") and event.args:
            yield from _report(view, event, event.args[0], GOOD, layer.type.rsplit(".", 1)[-1])
    for event in view.of("index"):
        yield from _report(view, event, event.index, GOOD, event.name)
    for event in view.of("call"):
        at = WIDE.get(event.name, ONLY_LONG.get(event.name))
        if at is not None:
            good = GOOD if event.name in WIDE else frozenset({"int64"})
            named = event.kwargs.get("index" if event.name in WIDE else "indices")
            index = event.args[at] if len(event.args) > at else named
            yield from _report(view, event, index, good, event.name.rsplit(".", 1)[-1])

    if view.admits(_TRUE_DIVISION):
        for event in {event.by.site: event for event in reversed(view.of("indexed"))}.values():  # the first that each indexes
            related = [(event.by.site, "the indices are divided here")]
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related, words=_QUOTIENT)
    if view.admits(_BOOL_ALONE):
        yield from _masks(view)


def _masks(view: View) -> Iterator[Report]:
    """`scores.masked_fill(mask.byte(), -1e9)`, `torch.masked_select(losses, torch.ByteTensor(mask))`."""
    for event in view.of("call", "method"):
        name = event.name.removeprefix("torch.")
        if name not in MASKED:
            continue
        at = MASKED[name] - (event.kind == "method")
        mask = event.args[at] if len(event.args) > at else event.kwargs.get("mask")
        yield from _report(view, event, mask, frozenset({"bool"}), name, _OF_MASKS)


def _report(view: View, event: Event, index: Value | None, good: frozenset[str], name: str, words: tuple[str, str] | None = None) -> Iterator[Report]:
    found = dtype_of(index)
    if found is not None and found[0] not in good:
        roles = {"call": view.call_text(event.site), "name": name, "dtype": f"torch.{found[0]}"}
        elsewhere = found[1].node is not event.site.node
        what = "the mask becomes" if words else "the indices become"
        yield Report(CODE, event.site, roles, [(found[1], f"{what} {found[0]} here")] if elsewhere else [], words=words)
