"""The sizes of colour images, (height, width, 3), that OpenCV or Pillow reads and resizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchlint.dryrun.torch_api.shapes import ANY, Shape, Size
from torchlint.dryrun.values import Const, Opaque, Ref, Seq, Value

_COLOURS = 3
_ANY_SIZE = Shape((None, None, _COLOURS), False)
_KEEP_SIZES = frozenset({"flip", "GaussianBlur", "medianBlur", "blur", "bilateralFilter"})  # of cv2, with the image first
_TO_COLOURS = re.compile(r"2(?:RGB|BGR|HSV|HLS|LAB|LUV|YCRCB|YCR_CB|YUV|XYZ)(?:_FULL)?$", re.IGNORECASE)


class ImageShapes:
    """The part of a run that knows sizes of images. See `interpreter.Run` for the state it works on."""

    def cv2_shape(self, name: str, args: Sequence[Value], kwargs) -> Shape:
        """What a function of OpenCV gives."""
        last = name.rpartition(".")[2]
        if last == "imread":  # in colour, unless a flag says otherwise
            return _ANY_SIZE if len(args) == 1 and not kwargs else ANY
        shape = self.noted_shape(args[0]) if args and not kwargs.keys() & {"*", "**", "dst"} else ANY
        if shape.rank != len(_ANY_SIZE.dims):
            return ANY
        if last in _KEEP_SIZES:
            return shape
        if last == "cvtColor":
            into = args[1] if len(args) > 1 else kwargs.get("code")
            return shape if isinstance(into, Ref) and _TO_COLOURS.search(into.name) and shape.dims[-1] == _COLOURS else ANY
        if last == "resize":
            return self._resized(shape, args[1] if len(args) > 1 else kwargs.get("dsize"))
        return ANY

    def note_pillow(self, name: str, owner: Value, args: Sequence[Value], kwargs, made: Value) -> None:
        """What a method of an image of Pillow's gives: what the array that is made of it will be."""
        if type(owner) is not Opaque or type(made) is not Opaque or made is owner or not args:
            return
        if name == "convert" and isinstance(args[0], Const) and args[0].value == "RGB":
            shape = self.noted_shape(owner)
            self.note_shape(made, shape if shape.rank == len(_ANY_SIZE.dims) else _ANY_SIZE)
        elif name == "thumbnail" and self.noted_shape(owner) != ANY:  # changes the image itself
            self.base_store.set(owner, " shape", ANY)
        elif name == "resize" and self._is_pillow(owner) and self.noted_shape(owner) != ANY:
            self.note_shape(made, self._resized(self.noted_shape(owner), args[0]))

    def _is_pillow(self, value: Value | None) -> bool:
        """Whether it is an image of Pillow's: in an array's `resize` the height is first."""
        while type(value) is Opaque and value.name in ("convert", "resize"):
            value = value.origin
        return type(value) is Opaque and value.name == "PIL.Image.open"

    def _resized(self, shape: Shape, size: Value | None) -> Shape:
        """An image of (width, height)."""
        sizes = self.numbers(size) if isinstance(size, Seq) else None
        width, height = map(_known, sizes) if sizes is not None and len(sizes) == 2 else (None, None)
        return Shape((height, width, shape.dims[-1]), False)


def _known(size: Size) -> Size:
    return size or None  # (0, 0): by how much is said elsewhere
