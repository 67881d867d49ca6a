"""410: float64 numbers, most often NumPy's, meet a model or a loss in float32."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, Ref, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.dtypes import double_in_batch, dtype_of
from torchlint.rules.tensors.integer_features import FLOAT_LAYERS

CODE = 410
_DEFAULTS = frozenset({"set_default_dtype", "set_default_tensor_type"})


def check(view: View) -> Iterator[Report]:
    """`nn.Linear(3, 1)(torch.from_numpy(np.random.rand(5, 3)))`; the same as the target of a loss."""
    if _in_double(view):
        return
    for event in view.of("forward"):
        layer = event.subject
        if not isinstance(layer, Instance) or not isinstance(layer.cls, Ref) or layer.type not in FLOAT_LAYERS:
            continue
        found = dtype_of(event.args[0]) if event.args else None
        if found is not None and found[0] == "float64" and not layer.kwargs.keys() & {"dtype", "**"}:
            name = layer.type.removeprefix("torch.")
            yield _report(view, event, found[1], f"`{name}` has float32 weights and refuses it")
    for event in view.of("loss"):
        found = dtype_of(event.target)
        made = found[1:] if found is not None and found[0] == "float64" else double_in_batch(view, event.target)
        if made is not None and _from_layer(event.input):
            yield _report(view, event, made[0], "the loss becomes float64, or is refused")


def _from_layer(value) -> bool:
    alts = real(value)
    return bool(alts) and all(isinstance(alt, Tensor) and alt.flows and alt.traits.get("graph") for alt in alts)


def _in_double(view: View) -> bool:
    """Whether some model may have been put in float64."""
    moves = view.of("module.move")
    if any(event.name not in ("cuda", "cpu") for event in moves if event.name != "to" or _typed(event)):
        return True
    files = {event.site.parsed.facts for event in view.of("forward", "loss") if event.site is not None}
    return any(
        not _DEFAULTS.isdisjoint(facts.words) or "double" in facts.words and any(".double()" in line for line in facts.lines)
        for facts in files
    )


def _typed(event) -> bool:
    text = event.site.text()
    return "double" in text or "float64" in text or "dtype" in text


def _report(view: View, event, made, what: str) -> Report:
    related = [(made, "the numbers are float64 since here")] if made is not None and made.node is not event.site.node else []
    return Report(CODE, event.site, {"call": view.call_text(event.site), "what": what}, related)
