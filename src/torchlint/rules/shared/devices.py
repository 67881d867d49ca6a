"""Where a tensor lives, as far as several rules ask: on the GPU, on the default device, with the model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torchlint.dryrun.guards import Guard
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Ref, Tensor, Union, Value, exclude_each_other, real, says_cuda
from torchlint.rules.base import View
from torchlint.rules.shared.methods import method_of

_INPUTS = frozenset({"x", "input", "inputs", "X", "data", "images", "image", "img", "feat", "features", "feature", "hidden", "tokens", "src", "tgt",
                     "inp", "embeddings", "embedding", "emb", "z", "y", "t", "tensor", "batch", "input_ids", "seq", "query", "key", "value"})

_FAR = 4  # steps from a value to the one that it was made of
_MAY_MOVE = ("to", "cuda", "cpu", "type", "type_as")
OF_GPUS = re.compile(r"cuda|gpu|^is_available$", re.IGNORECASE)


def on_gpu(device: Any) -> bool:
    """Whether a device is a GPU wherever there is one."""
    if isinstance(device, str):
        return device.startswith("cuda")
    if isinstance(device, Instance) and device.kind == "device":
        return any(map(says_cuda, real(device.arg(0, "type"))))
    if isinstance(device, Union):
        return _chosen_gpu(real(device))
    return isinstance(device, Value) and not isinstance(device, Instance) and any(map(says_cuda, real(device)))


def _chosen_gpu(devices: tuple[Value, ...]) -> bool:
    """Whether two branches say which device it is, and one of them a GPU: `if torch.cuda.is_available(): device = torch.device("cuda")`."""
    made = [alt for alt in devices if isinstance(alt, Instance) and alt.kind == "device"]
    if any(map(says_cuda, devices)):
        return True
    texts = [alt for alt in devices if isinstance(getattr(alt, "value", None), str)]
    return len(made) + len(texts) == len(devices) and any(map(on_gpu, made))


def placed_at(view: View, value: Value) -> tuple[Any, Site | None]:
    """The device that a value was put on, and where; of a batch's part, too, of which only what is asked of it tells that it
    is a tensor."""
    if isinstance(value, Tensor) and "device" in value.traits:
        return value.traits["device"], value.sites.get("device")
    for _ in range(_FAR):
        if not isinstance(value, Opaque):
            break
        if id(value) in view.run.moved:
            return view.run.moved[id(value)]
        before = value.origin
        if not _stays(value) or not isinstance(before, Opaque) or isinstance(before, Tensor) and before.traits.keys() & {"device", "made"}:
            break
        value = before
    return None, None


def _stays(value: Opaque) -> bool:
    """Whether a value lies where that lies that it was read or computed from: `x.data`, `x.clone()`, `x.view(-1, 1)`; a leaf, too, that
    holds what it was made of: `Variable(x, requires_grad=True)`."""
    if isinstance(value, Tensor) and value.source == "made":
        return bool(value.traits.get("leaf")) and not value.traits.keys() & {"made", "param"}
    if isinstance(value, Tensor) or value.source != "op":
        return method_of(value) != "type_as" if value.source == "op" else value.source == "attr" and value.name == "data"
    return method_of(value) not in ("", *_MAY_MOVE)


def weights_at(view: View, forward: Event) -> tuple[Any, Site | None]:
    """The device that a model's weights are on where it is called, and where they were put there. What is moved where there is a
    GPU, `if torch.cuda.is_available(): model.cuda()`, is there on each machine that has one."""
    device = forward.get("device")
    if device is not None or forward.get("wrapped"):
        return device, forward.get("device_site")
    for move in view.about("module.move", forward.subject):
        guards = move.get("guards") or ()
        if move.serial < forward.serial and on_gpu(move.device) and guards and all(map(asks_for_gpu, guards)) and not (
            exclude_each_other([*(forward.get("guards") or ()), *(forward.get("choice") or ())], guards)
        ):
            return move.device, move.site
    return None, None


def asks_for_gpu(guard: Guard) -> bool:
    """Whether a condition speaks of CUDA, or of a GPU."""
    names = [guard.site.text(), *(value.name for value in guard.reads if isinstance(value, Opaque))]
    return any(OF_GPUS.search(name) for name in names)


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
