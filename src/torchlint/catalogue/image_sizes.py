"""The sizes of the images in torchvision's data sets, colours first, and where each takes its transform among its arguments.

Source: the documentation of `torchvision.datasets`. An image of `ImageFolder` is read in colour, whatever its size.
"""

from __future__ import annotations

from typing import NamedTuple


class Images(NamedTuple):
    """Colours, height and width of the images, None where they differ; and the place of `transform`, None where it goes by name alone."""

    sizes: tuple[int, int | None, int | None]
    transform: int | None = 2


IMAGES = {
    "MNIST": Images((1, 28, 28)),
    "FashionMNIST": Images((1, 28, 28)),
    "KMNIST": Images((1, 28, 28)),
    "EMNIST": Images((1, 28, 28), None),
    "USPS": Images((1, 16, 16)),
    "CIFAR10": Images((3, 32, 32)),
    "CIFAR100": Images((3, 32, 32)),
    "SVHN": Images((3, 32, 32)),
    "STL10": Images((3, 96, 96), 3),
    "ImageFolder": Images((3, None, None), 1),
}
