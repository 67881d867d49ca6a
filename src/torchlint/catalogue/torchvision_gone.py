"""What torchvision has no more, of what old programs use: names, and arguments of what is still there."""

from __future__ import annotations

from torchlint.catalogue.apis import Gone

_SCALE = Gone("0.11", "0.12", "torchvision.transforms.Resize")
_SIZED = Gone("0.11", "0.12", "torchvision.transforms.RandomResizedCrop")
_URLS = Gone("0.14", "0.16", "torchvision.models.get_model_weights(name).DEFAULT.url")
_WITH_URLS = """alexnet densenet efficientnet googlenet inception mobilenet mobilenetv2 mobilenetv3 regnet resnet shufflenetv2 squeezenet vgg
    vision_transformer""".split()
# Layers that once stood in for torch's own.
_LAYERS = {f"torchvision.ops.misc.{name}": Gone("0.11", "0.12", f"torch.nn.{name}") for name in ("Conv2d", "ConvTranspose2d", "BatchNorm2d")}
# What a name is in that is gone itself, is gone.
NAMES = {
    "torchvision.transforms.Scale": _SCALE,
    "torchvision.transforms.transforms.Scale": _SCALE,
    "torchvision.transforms.RandomSizedCrop": _SIZED,
    "torchvision.transforms.transforms.RandomSizedCrop": _SIZED,
    "torchvision.transforms.functional.scale": Gone("0.11", "0.12", "torchvision.transforms.functional.resize"),
    "torchvision.transforms.functional_tensor": Gone("0.16", "0.17", "torchvision.transforms.functional"),
    "torchvision.models.mobilenet.ConvBNReLU": Gone("0.8", "0.11", "torchvision.ops.Conv2dNormActivation"),
    "torchvision.models.segmentation.segmentation": Gone("0.12", "0.14", "torchvision.models.segmentation"),
    "torchvision.models.utils": Gone("0.8", "0.11", "torch.hub.load_state_dict_from_url"),
    **{f"torchvision.models.{file}.model_urls": _URLS for file in _WITH_URLS},
    **_LAYERS,
}

# Those of them that warned before, since 0.2.
WARNED = frozenset(name for name in NAMES if name.endswith((".Scale", ".RandomSizedCrop")))
WARNED_SINCE = "0.2"

# What the data of these were called: with a warning in the first ones, and no more in the others.
DATA = {"train_data": "data", "test_data": "data", "train_labels": "targets", "test_labels": "targets"}
WARNING_DATASETS = frozenset(f"torchvision.datasets.{name}" for name in ("MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST"))
GONE_DATASETS = frozenset({"torchvision.datasets.CIFAR10", "torchvision.datasets.CIFAR100"})
DATA_RENAMED = Gone("0.2", "0.3")

_IN_0_15 = ("0.13", "0.15")
_RANGE = {"range": Gone(*_IN_0_15, "value_range")}
_RESAMPLE = {"resample": Gone(*_IN_0_15, "interpolation")}
_TURNED = {**_RESAMPLE, "fillcolor": Gone(*_IN_0_15, "fill")}
_FUNCTIONAL = "torchvision.transforms.functional"
ARGUMENTS = {
    "torchvision.utils.make_grid": _RANGE,
    "torchvision.utils.save_image": {**_RANGE, "filename": Gone("0.4", "0.5", "fp")},
    "torchvision.transforms.RandomAffine": _TURNED,
    "torchvision.transforms.RandomRotation": _RESAMPLE,
    f"{_FUNCTIONAL}.affine": _TURNED,
    f"{_FUNCTIONAL}.rotate": _RESAMPLE,
    "torchvision.datasets.LSUN": {"db_path": Gone("0.2", "0.3", "root")},
}

# The torch that a release of torchvision came out beside.
TORCH_BESIDE = {WARNED_SINCE: (0, 3), "0.3": (1, 1), "0.5": (1, 4), "0.11": (1, 10), "0.12": (1, 11), "0.14": (1, 13), "0.15": (2, 0), "0.16": (2, 1), "0.17": (2, 2)}
