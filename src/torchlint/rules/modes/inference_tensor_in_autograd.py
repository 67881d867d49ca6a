"""205: a tensor made under inference_mode goes into a computation that is differentiated."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.torch_api.names import canonical
from torchlint.dryrun.values import Event, Instance, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import Report, View

CODE = 205


def check(view: View) -> Iterator[Report]:
    """The output of a model that ran under inference_mode, as the input of a layer or the target of a loss that has a
    graph."""
    for event in view.of("forward", "loss"):
        if event.grad_on is not True or event.kind == "loss" and not _has_graph(event.input):
            continue
        if event.kind == "forward" and not _saves_input(event):
            continue
        values = event.args if event.kind == "forward" else (event.target,)
        for value in values:
            maker = _made_under(view, value)
            if maker is not None and _trained(view, event):
                roles = {"call": view.call_text(event.site)}
                yield Report(
                    CODE,
                    event.site,
                    roles,
                    [(maker.site, "this output is an inference tensor"), (_mode(maker), "made under this")],
                )
                break


def _mode(forward: Event):
    """The inference_mode that a forward runs under: its place."""
    for context in reversed(forward.contexts):
        if context.kind == "grad":
            text = context.site.text() if context.value is False and context.site is not None else ""
            return context.site if "inference_mode" in text else None
    return None


def _made_under(view: View, value: Value | None) -> Event | None:
    """The forward under inference_mode whose output a value is, untouched."""
    for alt in real(value):
        if not isinstance(alt, Opaque) or alt.site is None:
            continue
        makers = [
            event
            for event in alt.flows
            if event.kind == "forward" and event.site == alt.site and _mode(event) is not None
        ]
        if isinstance(alt, Tensor) and isinstance(alt.traits.get("out_of"), Event):
            made = alt.traits["out_of"]
            untouched = alt.site == made.site or alt.source == "output"
            makers = [made] if untouched and _mode(made) is not None else []
        if makers and len(real(value)) == 1:
            return makers[0]
    return None


def _has_graph(value: Value | None) -> bool:
    return all(isinstance(alt, Opaque) and any(event.get("grad") is True for event in alt.flows) for alt in real(value))


def _saves_input(event: Event) -> bool:
    """Whether the module keeps its input for the gradient of its weights: a layer with weights, or a chain that
    starts with one."""
    module = event.subject
    if event.get("frozen") is not None and getattr(event.frozen, "value", None) is True:
        return False
    if not isinstance(module, Instance) or not isinstance(module.cls, Ref):
        return False
    return canonical(module.type) in _LAYERS


def _trained(view: View, event: Event) -> bool:
    """Whether a backward goes through the computation."""
    if event.kind == "forward":
        return any(event in backward.flows for backward in view.of("backward"))
    flows = {item for alt in real(event.input) for item in alt.flows}
    return any(flows & backward.flows for backward in view.of("backward"))


_LAYERS = frozenset(
    f"torch.nn.{name}"
    for name in (
        "Linear",
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "LayerNorm",
        "GroupNorm",
        "Bilinear",
    )
)
