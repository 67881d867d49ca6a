"""306: the target has a dtype that the loss function does not take."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, number
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import dtype_of

CODE = 306
INTEGERS = frozenset({"int8", "int16", "int32", "bool"})
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})


def check(view: View) -> Iterator[Report]:
    """`cross_entropy(x, y.int())`, `nll_loss(x, y.float())`, `binary_cross_entropy(x, y.long())`."""
    for event in view.of("loss"):
        found = dtype_of(event.target)
        if found is None or not _refused(event, found[0]):
            continue
        related = [(found[1], f"the target becomes {found[0]} here")] if found[1].node is not event.site.node else []
        wanted = "torch.float32" if event.loss.startswith("binary") else "torch.int64 (`.long()`)"
        roles = {"call": view.call_text(event.site), "dtype": f"torch.{found[0]}", "wanted": wanted}
        yield Report(CODE, event.site, roles, related)


def _refused(event: Event, dtype: str) -> bool:
    if event.loss == "nll_loss":
        return dtype in INTEGERS | FLOATS
    if event.loss == "cross_entropy":  # floating-point targets may be probabilities
        return dtype in INTEGERS and number(event.kwargs.get("label_smoothing")) is None
    if event.loss in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        return dtype in INTEGERS | {"int64", "uint8"}
    return False
