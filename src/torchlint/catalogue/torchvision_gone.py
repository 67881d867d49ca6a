"""What torchvision has no more, of what old programs use: names, and arguments of what is still there."""

from __future__ import annotations

from torchlint.catalogue.apis import Gone

_SCALE = Gone("0.11", "0.12", "torchvision.transforms.Resize")
_SIZED = Gone("0.11", "0.12", "torchvision.transforms.RandomResizedCrop")
NAMES = {
    "torchvision.transforms.Scale": _SCALE,
    "torchvision.transforms.transforms.Scale": _SCALE,
    "torchvision.transforms.RandomSizedCrop": _SIZED,
    "torchvision.transforms.transforms.RandomSizedCrop": _SIZED,
}

_RANGE = {"range": "value_range"}
_TURNED = {"resample": "interpolation", "fillcolor": "fill"}
_FUNCTIONAL = "torchvision.transforms.functional"
ARGUMENTS = {
    "torchvision.utils.make_grid": _RANGE,
    "torchvision.utils.save_image": _RANGE,
    "torchvision.transforms.RandomAffine": _TURNED,
    "torchvision.transforms.RandomRotation": {"resample": "interpolation"},
    f"{_FUNCTIONAL}.affine": _TURNED,
    f"{_FUNCTIONAL}.rotate": {"resample": "interpolation"},
}
ARGUMENTS_AFTER, ARGUMENTS_BY = "0.13", "0.15"

# The torch that a release of torchvision came out beside.
TORCH_BESIDE = {"0.12": (1, 11), "0.15": (2, 0)}
