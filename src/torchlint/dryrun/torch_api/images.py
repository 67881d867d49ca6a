"""Arrays that are images in the order of the file, (height, width, channels): who reads them, and what keeps the order."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.values import Opaque, Value, real

_READERS = frozenset(
    {"cv2.imread", "imageio.imread", "imageio.v2.imread", "imageio.v3.imread", "skimage.io.imread", "matplotlib.pyplot.imread", "matplotlib.image.imread"}
)
_KEEPS = frozenset(
    {"cv2.resize", "cv2.cvtColor", "cv2.GaussianBlur", "cv2.flip", "cv2.warpAffine", "cv2.medianBlur", "skimage.transform.resize",
     "skimage.img_as_float", "skimage.img_as_float32"}
)
_METHODS = frozenset("astype copy clip".split())
_PILLOW = frozenset("convert resize crop rotate transpose filter thumbnail copy".split())
_OF_NUMPY = frozenset("array asarray ascontiguousarray float32".split())
_GREY = re.compile(r"GRAY|GREY|as_gray|UNCHANGED|,\s*(?:flags\s*=\s*)?(?:0|-1)\s*\)|[\"'](?:L|1|P|I|F|LA)[\"']")
IMAGE = frozenset({"image"})
_MOST = 12


def numpy_image(name: str, args: list[Value]) -> frozenset[str]:
    """The tag of an array that a function of NumPy's makes of an image."""
    if not name.startswith("numpy.") or name.rpartition(".")[2] not in _OF_NUMPY or not args:
        return frozenset()
    return IMAGE if (reader_of(args[0]) or reader_of(args[0], pillow=True)) is not None else frozenset()


def reader_of(given: Value, pillow: bool = False) -> Opaque | None:
    """The call that read an image, if a value is that image with its channels last; None where that is not certain. `pillow`:
    it is an image of Pillow's, and no array yet."""
    value: Value | None = given
    for _ in range(_MOST):
        alts = real(value)
        if len(alts) != 1 or type(alts[0]) is not Opaque:
            return None
        value = alts[0]
        text = value.site.text() if value.site is not None else ""
        if value.name in _READERS:
            return None if _GREY.search(text) else value
        if value.name == "PIL.Image.open":
            return value if pillow else None
        if "image" in value.tags:
            value, pillow = value.origin, True
        elif value.source == "op" and value.site is not None and isinstance(value.site.node, cst.BinaryOperation):
            value = _newest(value)
        elif value.source != "call" or _GREY.search(text):
            return None
        elif value.name in _KEEPS:
            value = _newest(value)
        elif value.origin is not None and value.name in (_PILLOW if pillow else _METHODS):
            value = value.origin
        else:
            return None
    return None


def _newest(value: Opaque) -> Value | None:
    found = [part for part in value.parts if isinstance(part, Opaque)]
    return max(found, key=lambda part: part.serial) if found else None
