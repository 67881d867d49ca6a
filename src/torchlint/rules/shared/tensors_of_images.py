"""Tensors that torchvision makes of images: on the CPU, as ToTensor takes pictures and arrays alone."""

from __future__ import annotations

from torchlint.dryrun.torch_api.vision_samples import is_transform, is_transformed
from torchlint.dryrun.values import Instance, Opaque, Seq, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.methods import method_of

_MOST = 8  # steps that are gone back
_FUNCTIONS = ("torchvision.transforms.functional.", "torchvision.transforms.v2.functional.")
_MAKE_TENSORS = frozenset({"to_tensor", "pil_to_tensor"})
_TRANSFORMS = frozenset({"ToTensor", "PILToTensor"})
# What leaves a tensor where it is.
_STAYS = frozenset(
    """view reshape squeeze squeeze_ unsqueeze unsqueeze_ flatten permute transpose contiguous float half double clone detach
    requires_grad_ expand repeat""".split()
)


def tensor_of_image(view: View, value: Value | None, depth: int = 0) -> bool:
    """Whether a value is a tensor that torchvision has made of an image, and that nobody has moved since."""
    alts = real(value)
    return bool(alts) and depth < _MOST and all(_is_of_image(view, alt, depth) for alt in alts)


def _is_of_image(view: View, value: Value, depth: int) -> bool:
    if isinstance(value, Instance):
        return depth > 1 and value.type.startswith("torchvision.datasets.")
    if not isinstance(value, Opaque) or id(value) in view.run.moved:
        return False
    if isinstance(value, Tensor) and "device" in value.traits:
        return False
    together = value.traits.get("put_together") if isinstance(value, Tensor) else None
    if together:
        return all(tensor_of_image(view, part, depth + 1) for part in together)
    if value.source == "call" and value.name.startswith(_FUNCTIONS):
        return value.name.rpartition(".")[2] in _MAKE_TENSORS or tensor_of_image(view, _newest(value), depth + 1)
    makers = real(value.origin) if value.source == "call" else ()
    if makers and all(map(_is_a_transform, makers)):
        return all(isinstance(alt, Opaque) and _makes_tensors(view, alt) for alt in makers)
    return _stays(value) and tensor_of_image(view, value.origin, depth + 1)


def _stays(value: Opaque) -> bool:
    """Whether a value is where the one is that it was read or computed from."""
    indexed = value.source == "item" or getattr(value.origin, "site", None) is value.site
    return indexed or method_of(value) in _STAYS


def _is_a_transform(value: Value) -> bool:
    return isinstance(value, Opaque) and is_transform(value) and not is_transformed(value)


def _makes_tensors(view: View, transform: Opaque) -> bool:
    """Whether a transform makes a tensor of an image, and what comes behind in a Compose leaves it where that is."""
    kind = transform.name.rpartition(".")[2]
    if kind != "Compose":
        return kind in _TRANSFORMS
    lists = [view.run.items_of(part) for part in transform.parts if isinstance(part, Seq)]
    steps = [step for items in lists if items and any(map(_kind, items)) for step in items]
    kinds = [_kind(step) for step in steps]
    last = max((place for place, kind in enumerate(kinds) if kind in _TRANSFORMS), default=None)
    return last is not None and not _ANYTHING & set(kinds[last:])


_ANYTHING = frozenset({"", "Lambda"})


def _kind(step: Value) -> str:
    alts = real(step)
    one = alts[0] if len(alts) == 1 else None
    return one.name.rpartition(".")[2] if isinstance(one, Opaque) and is_transform(one) else ""


def _newest(value: Opaque) -> Value | None:
    found = [part for part in value.parts if isinstance(part, Opaque)]
    return max(found, key=lambda part: part.serial) if found else None
