"""Which transforms of the libraries for images and sounds change what they are given at random, as their names and arguments say."""

from __future__ import annotations

import re

_OF_TORCHVISION = re.compile(
    r"^torchvision\.transforms\..*\b(?:Random(?!Apply|Choice|Order)\w+|ColorJitter|RandAugment|AutoAugment|TrivialAugmentWide|AugMix"
    r"|ElasticTransform)$"
)
_OF_ALBUMENTATIONS = re.compile(
    r"^albumentations\..*\b(?:Random(?!Scale\b)\w+|(?:Horizontal|Vertical)?Flip|Rotate|SafeRotate|Transpose|ShiftScaleRotate|ColorJitter"
    r"|HueSaturationValue|RGBShift|GaussNoise|ISONoise|CoarseDropout|Cutout|ElasticTransform|GridDistortion|OpticalDistortion|MotionBlur)$"
)
_SURE = re.compile(r"\b(?:p\s*=\s*[01](?:\.0*)?|always_apply\s*=\s*True)\s*[,)]")
_OF_KORNIA = re.compile(r"^kornia\.augmentation\.(?:\w+\.)*(?:Random\w+|ColorJiggle|ColorJitter)$")
_OF_TORCHAUDIO = re.compile(r"^torchaudio\.transforms\.(?:Frequency|Time)Masking$")
# What happens or not: for certain, or never, where the number says so.
_OFTEN = re.compile(r"Flip$|Grayscale$|Invert$")
_ALWAYS_OR_NEVER = re.compile(r"\(\s*(?:p\s*=\s*)?[01](?:\.0*)?\s*[,)]|\bp\s*=\s*[01](?:\.0*)?\s*[,)]")
# Those of imgaug are random by what they are given: a chance, or a range that a number is drawn of.
_CHANCE = re.compile(r"^imgaug\.augmenters\.(?:\w+\.)*(?:Fliplr|Flipud|Sometimes)$")
_A_CHANCE = re.compile(r"\(\s*(?:p\s*=\s*)?0?\.\d*[1-9]\d*\s*[,)]")
_RANGE = re.compile(
    r"^imgaug\.augmenters\.(?:\w+\.)*(?:Affine|Rotate|Shear[XY]|Scale[XY]|Translate[XY]|Crop|CropAndPad|Multiply|Add|GaussianBlur|MotionBlur"
    r"|LinearContrast|GammaContrast|ContrastNormalization|MultiplyHueAndSaturation|AddToHueAndSaturation|PerspectiveTransform|PiecewiseAffine)$"
)
_A_RANGE = re.compile(r"(?:^[\w.]*\(|\b(?:rotate|shear|scale|px|percent|mul|value|sigma|alpha)\s*=|[\"'][xy][\"']\s*:)\s*\(\s*(-?[\d.]+),\s*(-?[\d.]+)\s*\)")

COMPOSED = ("transforms.Compose", "v2.Compose", "albumentations.Compose", "composition.Compose", "augmenters.Sequential", "augmenters.meta.Sequential")


def changes_at_random(name: str, text: str) -> bool:
    """Whether what is made so, by a call of this name and of this text, changes at random all that it is applied to."""
    if _OF_TORCHVISION.search(name) or _OF_KORNIA.search(name):
        return not (_OFTEN.search(name) and _ALWAYS_OR_NEVER.search(text))
    if _OF_ALBUMENTATIONS.search(name):
        return bool(text) and not _SURE.search(text)
    if _CHANCE.search(name):
        return bool(_A_CHANCE.search(text))
    if _RANGE.search(name):
        return any(float(low) != float(high) for low, high in _A_RANGE.findall(text) if _is_number(low) and _is_number(high))
    return bool(_OF_TORCHAUDIO.search(name))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?(?:\d+\.?\d*|\.\d+)", text) is not None
