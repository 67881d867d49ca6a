"""709: binary cross-entropy on probabilities, inside CUDA autocast."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.mixed_precision import autocast_of, on_cuda

CODE = 709


def check(view: View) -> Iterator[Report]:
    """`nn.BCELoss()(...)` in a `with torch.autocast("cuda")` block: torch refuses it."""
    for event in view.of("loss"):
        if event.loss != "binary_cross_entropy":
            continue
        made = autocast_of(event)
        if made is not None and on_cuda(made):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, [(made.site, "autocast begins here")])
