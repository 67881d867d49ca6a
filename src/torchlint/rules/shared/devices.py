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
    """Tensors on the default device, with the event in which they meet what lives on the model's device. What two branches
    made, each on the default device, is there whichever ran."""
    for event in view.of("mix"):
        values = [real(value) for value in event.values]
        made = [alts for alts in values if alts and all(_on_default(alt) for alt in alts)]
        if not made or any(len(alts) != 1 for alts in values if alts not in made or event.chosen):
            continue
        others = [alts[0] for alts in values if alts not in made]
        module = event.subject
        if any(lives_with_model(alt) for alt in others) or isinstance(module, Instance) and has_parameters(module):
            for alts in made:
                yield event, alts[0]


def _on_default(value: Value) -> bool:
    if not isinstance(value, Tensor) or value.traits.get("device") != "default" or "made" not in value.traits:
        return False
    return not value.traits.get("dim0") and not value.traits.get("maybe0")


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
