"""517: a bias that the batch norm behind it takes away again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, Tensor, Value, real
from torchlint.rules.base import Report, View

CODE = 517
_LAYER = re.compile(r"^torch\.nn\.(?:Linear|Conv[123]d|ConvTranspose[123]d)$")
_PLACE = {
    "Linear": 2,
    "Conv1d": 7,
    "Conv2d": 7,
    "Conv3d": 7,
    "ConvTranspose1d": 7,
    "ConvTranspose2d": 7,
    "ConvTranspose3d": 7,
}


def check(view: View) -> Iterator[Report]:
    """`BatchNorm(Conv(x))`, where the convolution has a bias."""
    for event in view.of("forward"):
        norm = event.subject
        if not isinstance(norm, Instance) or not norm.type.startswith("torch.nn.BatchNorm") or not event.args:
            continue
        layer = _just_before(event.args[0])
        if layer is None or layer.site is None or layer.kwargs.keys() & {"*", "**"}:
            continue
        bias = layer.arg(_PLACE[layer.type.rsplit(".", 1)[-1]], "bias")
        if bias is None or isinstance(bias, Const) and bias.value is True:
            related = [(norm.site, "this subtracts the mean, and the bias with it")] if norm.site is not None else []
            yield Report(CODE, layer.site, {"layer": view.call_text(layer.site)}, related)


def _just_before(value: Value) -> Instance | None:
    """The layer whose output a value is, with nothing in between."""
    alts = real(value)
    maker = alts[0].origin if len(alts) == 1 and isinstance(alts[0], Tensor) else None
    return maker if isinstance(maker, Instance) and _LAYER.match(maker.type) else None
