"""The sizes of what torchvision's data sets give: those of their images, behind the transforms that they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import libcst as cst

from torchlint.catalogue.image_sizes import IMAGES
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.shapes import Shape
from torchlint.dryrun.values import Instance, Opaque, Value, real

Sizes = tuple[int | None, int | None, int | None]  # colours, height, width

_OF_IMAGES = "torchvision.datasets."
_OF_TRANSFORMS = "torchvision.transforms."
_TENSORS = frozenset({"ToTensor", "PILToTensor", "ToImage"})
_KEEP = frozenset(
    """Normalize ColorJitter ConvertImageDtype ToDtype RandomHorizontalFlip RandomVerticalFlip RandomAffine RandomPerspective RandomErasing
    RandomGrayscale RandomInvert RandomPosterize RandomSolarize RandomAutocontrast RandomEqualize RandomAdjustSharpness RandAugment AutoAugment
    TrivialAugmentWide AugMix GaussianBlur ElasticTransform""".split()
)
_CUTS = frozenset({"CenterCrop", "RandomCrop", "RandomResizedCrop"})
_CHANGES_SAMPLES = frozenset({"transforms", "target_transform", "loader", "*", "**"})


def sizes_of_image(data: Instance, steps: Iterable[Value] | None) -> tuple[Shape, Shape] | None:
    """The sizes of one image and of its label, by the transforms that the image goes through, which `transform_of` knew of; None where they cannot be told."""
    if steps is None:
        return None
    sizes: Sizes | None = IMAGES[data.type.removeprefix(_OF_IMAGES)].sizes
    is_tensor = False
    for step in steps:
        alts = real(step)
        if len(alts) != 1 or not is_transform(alts[0]):
            return None
        kind = alts[0].name.rpartition(".")[2]
        is_tensor = is_tensor or kind in _TENSORS
        sizes = sizes if kind in _TENSORS or kind in _KEEP else _changed(kind, alts[0].site, sizes)
        if sizes is None:
            return None
    return (Shape(sizes, False), Shape((), False)) if is_tensor else None


def transform_of(data: Instance) -> Value | None:
    """The transform that a data set of torchvision's is given, where nothing else may change its images or labels."""
    name = data.type.removeprefix(_OF_IMAGES)
    if not data.type.startswith(_OF_IMAGES) or name not in IMAGES or data.kwargs.keys() & _CHANGES_SAMPLES:
        return None
    place = IMAGES[name].transform
    if place is None:
        return data.kwargs.get("transform")
    return None if len(data.args) > place + 1 and real(data.args[place + 1]) else data.arg(place, "transform")


def is_transform(value: Value) -> bool:
    """Whether a value is a transform of torchvision's that stands in a file."""
    return type(value) is Opaque and value.source == "call" and value.name.startswith(_OF_TRANSFORMS) and value.site is not None and (
        isinstance(value.site.node, cst.Call)
    )


def is_transformed(value: Opaque) -> bool:
    """Whether a value is what a transform of torchvision's has made: it goes by the same name."""
    return value.name.startswith(_OF_TRANSFORMS) and (value.origin is not None or ".functional." in value.name)


def _changed(kind: str, made: Site, sizes: Sizes) -> Sizes | None:
    """The sizes behind a transform that changes them; None of one that is not known."""
    colours, height, width = sizes
    given = _literals(kind, made)
    if kind == "RandomRotation":
        return sizes if "expand" not in given else (colours, None, None)
    if kind in _CUTS:
        return (colours, *_pair(given.get("size")))
    if kind == "Resize":
        size = given.get("size")
        shorter = size[0] if isinstance(size, (list, tuple)) and len(size) == 1 else size
        if _is_size(shorter):
            return (colours, shorter, shorter) if height is not None and height == width else (colours, None, None)
        return (colours, *_pair(size))
    if kind == "Pad":
        by = given.get("padding")
        known = _is_size(by) and height is not None and width is not None
        return (colours, height + 2 * by, width + 2 * by) if known else (colours, None, None)
    if kind == "Grayscale":
        made = given.get("num_output_channels", 1)
        return (made if made in (1, 3) else None, height, width)
    return None


_FIRST = {"Pad": "padding", "Grayscale": "num_output_channels"}


def _literals(kind: str, made: Site) -> dict[str, Any]:
    """The arguments of a transform by their names, None for those that are no literals: of those by place the first alone is asked for."""
    found: dict[str, Any] = {}
    for place, arg in enumerate(made.node.args):
        name = arg.keyword.value if arg.keyword is not None else _FIRST.get(kind, "size") if place == 0 and not arg.star else f"*{place}"
        try:
            found[name] = ast.literal_eval(made.parsed.text(arg.value).strip())
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            found[name] = None
    return found


def _pair(size: Any) -> tuple[int | None, int | None]:
    """Height and width, of one number or of two."""
    if _is_size(size):
        return size, size
    if isinstance(size, (list, tuple)) and len(size) == 2 and all(map(_is_size, size)):
        return size[0], size[1]
    return None, None


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and value > 0
