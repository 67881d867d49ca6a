"""409: a layer with floating-point weights is given integers."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, Ref
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import dtype_of

CODE = 409
FLOAT_LAYERS = frozenset(
    f"torch.nn.{name}" for name in
    "Linear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LSTM GRU RNN LSTMCell GRUCell RNNCell"
    " LayerNorm BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm".split()
)
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "bool"})


def check(view: View) -> Iterator[Report]:
    """`nn.Linear(...)(torch.tensor([[1, 2, 3]]))`."""
    for event in view.of("forward"):
        layer = event.subject
        if not isinstance(layer, Instance) or not isinstance(layer.cls, Ref) or layer.type not in FLOAT_LAYERS:
            continue
        if not event.args:
            continue
        found = dtype_of(event.args[0])
        if found is None or found[0] not in INTEGERS or "dtype" in layer.kwargs or "**" in layer.kwargs:
            continue
        name = layer.type.removeprefix("torch.")
        roles = {"call": view.call_text(event.site), "layer": name, "dtype": f"torch.{found[0]}"}
        related = [(found[1], f"the input is {found[0]} since here")] if found[1].node is not event.site.node else []
        yield Report(CODE, event.site, roles, related)
