"""313: the scores of a classifier go through ReLU before the loss."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Tensor, real
from torchlint.rules.base import Report, View

CODE = 313
LOGITS = frozenset({"cross_entropy", "binary_cross_entropy_with_logits"})


def check(view: View) -> Iterator[Report]:
    """cross_entropy of what ReLU gave."""
    for event in view.of("loss"):
        alts = real(event.input)
        if event.loss not in LOGITS or not alts:
            continue
        if not all(isinstance(alt, Tensor) and alt.traits.get("act") == "relu" for alt in alts):
            continue
        places = {id(alt.sites["act"].node): alt.sites["act"] for alt in alts if "act" in alt.sites}
        related = [(site, "ReLU is applied here") for site in places.values()]
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)
