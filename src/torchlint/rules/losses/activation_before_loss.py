"""313: the scores of a classifier go through ReLU or a sigmoid before the loss."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.several_models import goes_with_each, of_some_models

CODE = 313
_RELU = ("relu", "ReLU", "scores below zero are cut off, and so are their gradients")
_SIGMOID = ("sigmoid", "a sigmoid", "scores between 0 and 1 are nearly alike after its softmax, and no class gets far ahead")
# binary_cross_entropy_with_logits after a sigmoid is 303.
_LOSSES = {"cross_entropy": (_RELU, _SIGMOID), "binary_cross_entropy_with_logits": (_RELU,)}


def check(view: View) -> Iterator[Report]:
    """cross_entropy of what ReLU or a sigmoid gave."""
    for event in view.of("loss"):
        alts = real(event.input)
        for act, name, harm in _LOSSES.get(event.loss, ()) if alts else ():
            having = [alt for alt in alts if isinstance(alt, Tensor) and alt.traits.get("act") == act]
            having = of_some_models(having, alts) if len(having) == len(alts) or goes_with_each(event) else []
            if not having:
                continue
            places = {id(alt.sites["act"].node): alt.sites["act"] for alt in having if "act" in alt.sites}
            related = [(site, f"{name} is applied here") for site in places.values()]
            yield Report(CODE, event.site, {"call": view.call_text(event.site), "act": name, "harm": harm}, related)
