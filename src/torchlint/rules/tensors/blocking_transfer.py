"""425: pinned memory without `non_blocking=True`, or the reverse."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, Opaque, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import moves

CODE = 425
CALLS = frozenset({".to", ".cuda"})


def check(view: View) -> Iterator[Report]:
    """`x.to(device)` for a batch of `DataLoader(..., pin_memory=True)`; `non_blocking=True` without pinned memory."""
    for event in view.of("method"):
        if not moves(event, "to", "cuda"):
            continue
        loader = _loader(event.subject)
        if loader is None or loader.kwargs.keys() & {"**", "*"} or len(loader.args) > 6:
            continue
        pinned, asked = loader.kwargs.get("pin_memory"), event.kwargs.get("non_blocking")
        # Where the function says it of some other copy, this one was thought of.
        if _true(pinned) and asked is None and "non_blocking" not in event.site.parsed.unit.words:
            what = "the batch lies in pinned memory, but without `non_blocking=True` the program waits for the copy"
        elif _true(asked) and (pinned is None or isinstance(pinned, Const) and pinned.value is False):
            if "pin_memory" in event.site.parsed.unit.words - loader_words(loader):
                continue
            what = "`non_blocking=True` has no effect: the loader gives batches in memory that is not pinned"
        else:
            continue
        related = [(loader.site, "the loader is made here")] if loader.site is not None else []
        yield Report(CODE, event.site, {"call": view.call_text(event.site), "what": what}, related)


def loader_words(loader: Instance) -> set[str]:
    """`pin_memory` where the loader's own arguments say it: that is no call of Tensor.pin_memory."""
    return {"pin_memory"} & loader.kwargs.keys()


def _loader(value: Value | None) -> Instance | None:
    """The DataLoader that a value is a batch of, or part of one."""
    alts = real(value)
    value = alts[0] if len(alts) == 1 else None
    for _ in range(6):
        if isinstance(value, Instance):
            return value if isinstance(value.cls, Ref) and value.type == "torch.utils.data.DataLoader" else None
        if not isinstance(value, Opaque) or value.source != "item":
            return None
        value = value.origin
    return None


def _true(value: Value | None) -> bool:
    return isinstance(value, Const) and value.value is True
