"""Where a tensor lives, as far as several rules ask: on the GPU, on the default device, with the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchlint.dryrun.values import Event, Instance, Opaque, Ref, Tensor, Value, real
from torchlint.rules.base import View

_INPUTS = frozenset({"x", "input", "inputs", "X", "data", "images", "image", "img", "feat", "features", "feature", "hidden", "tokens", "src", "tgt",
                     "inp", "embeddings", "embedding", "emb", "z", "y", "t", "tensor", "batch", "input_ids", "seq", "query", "key", "value"})


def on_gpu(device: Any) -> bool:
    """Whether a device is a GPU wherever there is one."""
    if isinstance(device, str):
        return device.startswith("cuda")
    if isinstance(device, Instance) and device.kind == "device":
        first = device.arg(0, "type")
        texts = [alt.value for alt in real(first) if hasattr(alt, "value")]
        return any(isinstance(text, str) and text.startswith("cuda") for text in texts)
    if isinstance(device, Value) and not isinstance(device, (Instance, Opaque)):
        return any(isinstance(getattr(alt, "value", None), str) and alt.value.startswith("cuda") for alt in real(device))
    return False


def made_on_default(view: View) -> Iterator[tuple[Event, Tensor]]:
    """Tensors on the default device, with the event in which they meet what lives on the model's device."""
    for event in view.of("mix"):
        values = [alt for value in event.values for alt in real(value)]
        made = [
            alt for alt in values
            if isinstance(alt, Tensor) and alt.traits.get("device") == "default" and "made" in alt.traits
            and not alt.traits.get("dim0") and not alt.traits.get("maybe0")
        ]
        if not made or len(real_alternatives(event)) != len(event.values):
            continue
        others = [alt for alt in values if alt not in made]
        module = event.subject
        if any(lives_with_model(alt) for alt in others) or isinstance(module, Instance) and has_parameters(module):
            for tensor in made:
                yield event, tensor


def real_alternatives(event: Event) -> list[Value]:
    """The values of a mix that are one thing for certain."""
    return [value for value in event.values if len(real(value)) == 1]


def lives_with_model(value: Value) -> bool:
    """Whether a value is certainly a tensor on the model's device: an input of forward, or what a layer made of it."""
    if isinstance(value, Tensor) and not value.traits.get("param"):
        if "device" in value.traits or "made" in value.traits:
            return False
        # Parts hold the parts of parts: one look is enough.
        return _comes_with_model(value) or any(_comes_with_model(part) for part in value.parts)
    return _comes_with_model(value)


def _comes_with_model(value: Value) -> bool:
    # What is called with nothing may be a class as well as a model: `POOLERS[name]()`.
    if isinstance(value, Tensor):
        if value.traits.get("param"):
            return True
        return "device" not in value.traits and "made" not in value.traits and (bool(value.flows) or value.source == "param")
    named = isinstance(value, Opaque) and value.source == "param" and value.tags <= frozenset({"module?"}) and value.name in _INPUTS
    return named or isinstance(value, Opaque) and any(flow.get("args") or flow.get("kwargs") for flow in value.flows)


def has_parameters(module: Instance) -> bool:
    """Whether a layer of torch holds weights."""
    return isinstance(module.cls, Ref) and module.type.rsplit(".", 1)[-1].startswith(
        ("Linear", "Conv", "Embedding", "LSTM", "GRU", "RNN", "BatchNorm", "LayerNorm", "Bilinear")
    )
