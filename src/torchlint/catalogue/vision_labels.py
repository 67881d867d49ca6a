"""The highest class number in each of torchvision's data sets that come with numbered classes."""

from __future__ import annotations

HIGHEST = {
    "MNIST": 9, "FashionMNIST": 9, "KMNIST": 9, "QMNIST": 9, "USPS": 9, "SVHN": 9, "CIFAR10": 9, "CIFAR100": 99, "Food101": 100,
    "Flowers102": 101, "DTD": 46, "GTSRB": 42, "StanfordCars": 195, "Country211": 210,
}
HIGHEST_OF_EMNIST = {"byclass": 61, "bymerge": 46, "balanced": 46, "letters": 26, "digits": 9, "mnist": 9}  # letters are counted from 1
DATA_SETS = (*HIGHEST, "EMNIST")
