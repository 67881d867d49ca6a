"""What is known of the sizes of tensors, and where two sizes cannot go together.

A shape is known from its end: `Linear(8, 3)` gives a last dimension of 3, whatever stands before it. A size is a number,
a set of numbers (one of them it is), or None. Nothing is said of what is not certain: an unknown size fits everywhere.

The rules that layers follow are those of torch's documentation of each layer; tests/facts/test_shapes.py asks torch itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Size = int | frozenset[int] | None


class Shape(NamedTuple):
    """The last dimensions of a tensor, outermost first; `open`: there may be more before them."""

    dims: tuple[Size, ...] = ()
    open: bool = True

    @property
    def rank(self) -> int | None:
        return None if self.open else len(self.dims)

    def at(self, index: int) -> Size:
        """The size of a dimension; one counted from the front needs all to be known."""
        if index >= 0 and self.open:
            return None
        return self.dims[index] if -len(self.dims) <= index < len(self.dims) else None

    def tail(self, count: int) -> tuple[Size, ...]:
        """The last `count` sizes, with None for those that are not known."""
        missing = count - len(self.dims)
        return (None,) * missing + self.dims[max(-missing, 0):] if count else ()

    def replaced(self, index: int, size: Size) -> Shape:
        """The same with another size at a negative index."""
        dims = list(self.tail(max(-index, len(self.dims))))
        dims[index] = size
        return Shape(tuple(dims), self.open)

    def text(self) -> str:
        """As a person writes it: (..., 64) or (8, 10)."""
        sizes = [str(size) if isinstance(size, int) else "?" for size in self.dims]
        return f"({', '.join(['...'] * self.open + sizes)}{',' if len(sizes) == 1 and not self.open else ''})"


class Clash(NamedTuple):
    """Two sizes that cannot go together. `what` is counted: "features", "channels", "dimensions"."""

    what: str
    needed: str
    given: str
    source: str = "last"  # which dimension of the input it is about: "last" or "other"


ANY = Shape()


def differ(a: Size, b: Size) -> bool:
    """Whether two sizes are different for certain."""
    if a is None or b is None:
        return False
    one = a if isinstance(a, frozenset) else {a}
    two = b if isinstance(b, frozenset) else {b}
    return not one & two


def shared(found: Iterable[Shape]) -> Shape:
    """What is true of each of several shapes: the dimensions from the end that all have, and their sizes where they are the same."""
    each = set(found)
    if len(each) == 1:
        return each.pop()
    count = min((len(shape.dims) for shape in each), default=0)
    sizes = zip(*(shape.tail(count) for shape in each))
    dims = tuple(same.pop() if len(same := set(several)) == 1 else None for several in sizes)
    return Shape(dims, any(shape.open or len(shape.dims) > count for shape in each) or not each)


def told(size: Size) -> str:
    """A size in words."""
    return " or ".join(map(str, sorted(size))) if isinstance(size, frozenset) else str(size)


def product(sizes: Sequence[Size]) -> int | None:
    """The number of values; None where a size is not known."""
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else None


# -- layers -------------------------------------------------------------------------------------------------------------


def linear(shape: Shape, inside: int | None, outside: int | None) -> tuple[Shape, Clash | None]:
    """(..., in) becomes (..., out)."""
    given = shape.at(-1)
    clash = Clash("features", str(inside), told(given)) if differ(given, inside) else None
    return shape.replaced(-1, outside), clash


def convolution(shape: Shape, channels: int | None, out: int | None, spatial: Sequence[Size]) -> tuple[Shape, Clash | None]:
    """(N, C, *spatial) or (C, *spatial) becomes (N, out, *spatial)."""
    n = len(spatial)
    clash = None
    if shape.rank is not None and shape.rank not in (n + 1, n + 2):
        clash = Clash("dimensions", f"{n + 1} or {n + 2}", str(shape.rank))
        return Shape((out, *spatial)), clash
    given = shape.at(-(n + 1))
    if differ(given, channels):
        clash = Clash("channels", str(channels), told(given), "other")
    before = shape.dims[: -(n + 1)] if len(shape.dims) > n + 1 else ()
    return Shape((*before, out, *spatial), shape.open), clash


def slid(size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size = 1, ceil: bool = False) -> Size:
    """How many places a window has: floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1."""
    if not all(isinstance(value, int) for value in (size, kernel, stride, padding, dilation)) or not stride or ceil:
        return None
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def widened(size: Size, kernel: Size, stride: Size, padding: Size, extra: Size, dilation: Size = 1) -> Size:
    """The size that a transposed convolution gives."""
    if not all(isinstance(value, int) for value in (size, kernel, stride, padding, extra, dilation)):
        return None
    return (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1


def normalized(shape: Shape, n: int, features: int | None) -> Clash | None:
    """BatchNorm over n spatial dimensions: the features stand before them (BatchNorm1d: also (N, C))."""
    if n == 1:
        if shape.rank not in (2, 3):
            return None if shape.rank is None else Clash("dimensions", "2 or 3", str(shape.rank))
        given = shape.dims[1]
    else:
        if shape.rank is not None and shape.rank != n + 2:
            return Clash("dimensions", str(n + 2), str(shape.rank))
        given = shape.at(-(n + 1))
    return Clash("channels" if n > 1 else "features", str(features), told(given), "other") if differ(given, features) else None


def layer_norm(shape: Shape, sizes: Sequence[Size]) -> Clash | None:
    """The last dimensions have to be the normalized ones."""
    for index in range(-len(sizes), 0):
        if differ(shape.at(index), sizes[index]):
            return Clash("values in the last dimensions", told(sizes[index]), told(shape.at(index)))
    return None


# -- operations -----------------------------------------------------------------------------------------------------------


def flattened(shape: Shape, start: int | None, end: int | None) -> Shape:
    """x.flatten(start, end). Where the rank is not known, images may have come with or without a batch dimension."""
    if start is None or end is None:
        return ANY
    if shape.rank is not None:
        rank = shape.rank
        first, last = start % rank if rank else 0, end % rank if rank else 0
        if not rank or first > last or not -rank <= start < rank or not -rank <= end < rank:
            return ANY
        return Shape((*shape.dims[:first], product(shape.dims[first : last + 1]), *shape.dims[last + 1 :]), False)
    if start == 0 and end == -1:
        return Shape((None,), False)
    if start == 1 and end == -1:  # two dimensions, whatever there was
        with_batch, without = product(shape.dims), product(shape.dims[1:])
        known = len(shape.dims) >= 3 and with_batch is not None and without is not None
        return Shape((None, frozenset((with_batch, without)) if known else None), False)
    if start < 0 and end == -1 and len(shape.dims) >= -start:
        return Shape((*shape.dims[:start], product(shape.dims[start:])), True)
    return ANY


def viewed(shape: Shape, sizes: Sequence[Size]) -> tuple[Shape, Clash | None]:
    """x.view(*sizes), with -1 for the one that is left over."""
    known = [size for size in sizes if isinstance(size, int) and size >= 0]
    total = product(shape.dims) if not shape.open else None
    result = [size if isinstance(size, int) and size >= 0 else None for size in sizes]
    if total is None or len(known) < len(sizes) - 1 or None in sizes:
        return Shape(tuple(result), False), None
    rest = math.prod(known)
    if -1 in sizes:
        if not rest or total % rest:
            return Shape(tuple(result), False), Clash("values", f"a multiple of {rest}", str(total))
        result[sizes.index(-1)] = total // rest
    elif rest != total:
        return Shape(tuple(result), False), Clash("values", str(rest), str(total))
    return Shape(tuple(result), False), None


def permuted(shape: Shape, order: Sequence[int | None]) -> Shape:
    """x.permute(*order)."""
    rank = len(order)
    if shape.rank not in (None, rank) or any(index is None or not -rank <= index < rank for index in order):
        return ANY
    dims = shape.tail(rank)
    return Shape(tuple(dims[index] for index in order), False)


def transposed(shape: Shape, one: int | None, two: int | None) -> Shape:
    """x.transpose(one, two)."""
    if one is None or two is None or (shape.open and (one >= 0 or two >= 0)):
        return ANY if shape.open else Shape((None,) * len(shape.dims), False)
    least = max(-one if one < 0 else 0, -two if two < 0 else 0, len(shape.dims))
    dims = list(shape.tail(least))
    if not all(-len(dims) <= index < len(dims) for index in (one, two)):
        return ANY
    dims[one], dims[two] = dims[two], dims[one]
    return Shape(tuple(dims), shape.open)


def reduced(shape: Shape, dims: Sequence[int | None], keep: bool) -> Shape:
    """x.sum(dims): without them, or with a size of 1."""
    if any(index is None for index in dims) or (shape.open and any(index >= 0 for index in dims)):
        return ANY
    if shape.open and not all(-len(shape.dims) <= index for index in dims):
        return ANY
    if not shape.open and not all(-len(shape.dims) <= index < len(shape.dims) for index in dims):
        return ANY
    gone = {index % len(shape.dims) for index in dims}
    if keep:
        return Shape(tuple(1 if n in gone else size for n, size in enumerate(shape.dims)), shape.open)
    return Shape(tuple(size for n, size in enumerate(shape.dims) if n not in gone), shape.open)


def inserted(shape: Shape, index: int | None) -> Shape:
    """x.unsqueeze(index)."""
    if index is None:
        return ANY
    if index < 0:
        if shape.open and len(shape.dims) < -index - 1:
            return Shape(tuple(shape.dims))
        at = len(shape.dims) + index + 1
    else:
        at = index if not shape.open else -1
    if not 0 <= at <= len(shape.dims):
        return Shape(shape.dims) if shape.open and index == 0 else ANY
    return Shape((*shape.dims[:at], 1, *shape.dims[at:]), shape.open)


def squeezed(shape: Shape, index: int | None = None, every: bool = False) -> Shape:
    """x.squeeze(index), or x.squeeze() where `every` dimension of size 1 goes: without them, if that can be told."""
    if every:
        known = not shape.open and all(isinstance(size, int) for size in shape.dims)
        return Shape(tuple(size for size in shape.dims if size != 1), False) if known else ANY
    if index is None or shape.open and index >= 0 or not -len(shape.dims) <= index < len(shape.dims):
        return ANY
    size = shape.dims[index]
    if not isinstance(size, int):
        return ANY
    at = index % len(shape.dims)
    return Shape((*shape.dims[:at], *shape.dims[at + 1 :]), shape.open) if size == 1 else shape


def expanded(shape: Shape, sizes: Sequence[Size]) -> Shape:
    """x.expand(*sizes), with -1 for those that stay."""
    if shape.open or len(sizes) < len(shape.dims) or not sizes:
        return ANY
    own = (None,) * (len(sizes) - len(shape.dims)) + shape.dims
    return Shape(tuple(have if size == -1 else size for size, have in zip(sizes, own)), False)


def repeated(shape: Shape, times: Sequence[Size]) -> Shape:
    """x.repeat(*times)."""
    if shape.open or len(times) < len(shape.dims) or not times:
        return ANY
    own = (1,) * (len(times) - len(shape.dims)) + shape.dims
    return Shape(tuple(a * b if isinstance(a, int) and isinstance(b, int) else None for a, b in zip(own, times)), False)


def joined(shapes: Sequence[Shape], index: int | None) -> tuple[Shape, Clash | None]:
    """torch.cat(tensors, index)."""
    if index is None or not shapes or any(shape.open for shape in shapes) and index >= 0:
        return ANY, None
    ranks = {shape.rank for shape in shapes if shape.rank is not None}
    if len(ranks) > 1:
        if any(shape.dims == (0,) for shape in shapes):
            return ANY, None  # an empty tensor fits everything
        return ANY, Clash("dimensions", str(shapes[0].rank), " and ".join(str(r) for r in sorted(ranks)))
    count = min(len(shape.dims) for shape in shapes) if not ranks else ranks.pop()
    tails = [shape.tail(count) for shape in shapes]
    if not count or not -count <= index < count:
        return ANY, None
    at = index % count
    dims: list[Size] = []
    for n, sizes in enumerate(zip(*tails)):
        if n == at:
            dims.append(sum(sizes) if all(isinstance(size, int) for size in sizes) else None)
            continue
        known = [size for size in sizes if isinstance(size, int)]
        if len(set(known)) > 1:
            return ANY, Clash(f"values in dimension {n}", str(known[0]), str(next(k for k in known if k != known[0])), "other")
        dims.append(known[0] if known else None)
    return Shape(tuple(dims), all(shape.open for shape in shapes)), None


def multiplied(a: Shape, b: Shape) -> tuple[Shape, Clash | None]:
    """a @ b, where both have two dimensions or more."""
    if len(a.dims) < 2 and not a.open or len(b.dims) < 2 and not b.open:
        return ANY, None  # vectors
    if not (len(a.dims) >= 2 and len(b.dims) >= 2):
        return ANY, None
    if differ(a.dims[-1], b.dims[-2]):
        return ANY, Clash("columns", told(b.dims[-2]), told(a.dims[-1]))
    if a.rank == b.rank == 2:
        return Shape((a.dims[0], b.dims[1]), False), None
    return Shape((a.dims[-2], b.dims[-1])), None


def broadcast(a: Shape, b: Shape) -> tuple[Shape, Clash | None]:
    """a + b: sizes are equal from the end, or one of them is 1."""
    count = max(len(a.dims), len(b.dims))
    dims: list[Size] = []
    for index in range(-count, 0):
        x, y = a.at(index), b.at(index)
        missing_x, missing_y = index < -len(a.dims), index < -len(b.dims)
        if missing_x or missing_y:
            other_open = a.open if missing_x else b.open
            dims.append(None if other_open else y if missing_x else x)
            continue
        if isinstance(x, int) and isinstance(y, int) and x != y and 1 not in (x, y):
            return ANY, Clash(f"values in dimension {index}", str(x), str(y), "other")
        dims.append(y if x == 1 else x if y == 1 or x == y else x if isinstance(x, int) and x > 1 else y if isinstance(y, int) and y > 1 else None)
    return Shape(tuple(dims), a.open or b.open), None
