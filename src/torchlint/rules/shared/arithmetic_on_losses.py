"""Whether a value is computed from a loss in view, so that it holds the loss's graph."""

from __future__ import annotations

from torchlint.dryrun.values import Opaque, Tensor, Value


def computed_from(value: Opaque, loss: Value) -> bool:
    """Whether a value is arithmetic on the loss: what a call that cannot be seen made of it may be a number."""
    if loss not in value.parts or (value.source == "call" and not isinstance(value, Tensor)):
        return False
    return not any(
        type(part) is Opaque and part.source == "call" and "again" not in part.tags and loss in part.parts for part in value.parts
    )
