"""505: forward builds a layer with weights, or a dropout that is always on."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Class, Event, Instance, Opaque, Ref, Tensor, Value, boolean, real
from torchlint.rules.base import Report, View

CODE = 505
WITH_WEIGHTS = ("Linear", "Conv", "Embedding", "LSTM", "GRU", "RNN", "BatchNorm", "LayerNorm", "GroupNorm", "Bilinear", "Multihead", "Transformer", "PReLU")


def check(view: View) -> Iterator[Report]:
    """`nn.Linear(...)(x)` inside forward, or set on self by every forward anew."""
    kept: dict[int, list[Event]] = {}
    for event in view.of("setattr"):
        for alt in real(event.value):
            kept.setdefault(id(alt), []).append(event)
    for event in view.of("module.create"):
        made = event.subject
        if id(made) not in view.called and _rate_is_what_it_drops(made):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, words=_NO_RATE)
            continue
        if not _matters(view, made):
            continue
        if id(made) in kept:
            # A layer that is built once, when the first input tells its size, stands under a condition.
            if event.guards or any(change.guards for change in kept[id(made)]):
                continue
        elif id(made) in view.run.registered:
            continue
        if id(made) in view.called:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})


_NO_RATE = (
    "`{call}` builds a dropout and takes the tensor for its rate: nothing is dropped, and a tensor of several values raises",
    "write `F.dropout(x, p, self.training)`, or build it once in `__init__` and call it: `self.dropout(x)`",
)


def _rate_is_what_it_drops(made: Value) -> bool:
    """Whether a dropout is given the output of a layer where it is built."""
    if not isinstance(made, Instance) or not isinstance(made.cls, Ref) or "Dropout" not in made.type.rsplit(".", 1)[-1] or not made.args:
        return False
    given = real(made.args[0])
    return bool(given) and all(isinstance(alt, Tensor) and alt.flows and not alt.traits.keys() & {"dim0", "maybe0"} for alt in given)


def _matters(view: View, made: Value) -> bool:
    if not isinstance(made, Instance) or isinstance(made.cls, Class):
        return False
    name = made.type.rsplit(".", 1)[-1]
    if "Dropout" in name and _from_caller(made):
        return False  # forward's caller says how much: it can say 0
    if "Norm" in name:
        return _keeps_something(made, name)
    return name.startswith(WITH_WEIGHTS) or "Dropout" in name


def _keeps_something(made: Instance, name: str) -> bool:
    """Whether a normalization has weights, or statistics that it gathers while it trains."""
    affine = {"BatchNorm": (2, "affine"), "InstanceNorm": (2, "affine"), "LayerNorm": (2, "elementwise_affine"), "GroupNorm": (3, "affine"),
              "RMSNorm": (2, "elementwise_affine")}
    kind = next((kind for kind in affine if kind in name), "")
    if not kind or made.kwargs.keys() & {"*", "**"}:
        return False
    weights, tracks = made.arg(*affine[kind]), made.arg(4, "track_running_stats") if kind in ("BatchNorm", "InstanceNorm") else None
    by_default = kind != "InstanceNorm"
    return _is_on(weights, by_default) or kind in ("BatchNorm", "InstanceNorm") and _is_on(tracks, by_default)


def _is_on(given: Value | None, by_default: bool) -> bool:
    return by_default if given is None else boolean(given) is True


def _from_caller(made: Instance) -> bool:
    """Whether the rate is a parameter of the function that the layer is built in."""
    rate = made.arg(0, "p")
    same = isinstance(rate, Opaque) and rate.source == "param" and rate.site is not None and made.site is not None
    return same and rate.site.parsed is made.site.parsed

