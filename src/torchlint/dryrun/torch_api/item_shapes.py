"""The sizes of parts: x[...], what x.split(8) and x.max(1) give, each element of what is gone through; and of stacks."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.torch_api import shapes
from torchlint.dryrun.torch_api.shapes import ANY, Shape, Size
from torchlint.dryrun.torch_api.tables import EACH, OF_CELLS
from torchlint.dryrun.values import NONE, Const, Opaque, Seq, Tensor, Value, boolean, real

SEVERAL = frozenset({"split", "chunk", "unbind", "max", "min", "topk", "sort", "median", "mode", "kthvalue"})


class ItemShapes:
    """The part of a run that knows sizes of items. See `interpreter.Run` for the state it works on."""

    # -- x[...] -----------------------------------------------------------------------------------------------------

    def item_shape(self, owner: Value, keys: Sequence[Value | None], result: Value, node: cst.CSTNode) -> Value:
        """What x[keys] leaves of the sizes; a slice is None among the keys."""
        found = self.indexed_shape(self.noted_shape(owner), keys, node)
        if isinstance(result, Tensor):
            return self.with_shape(result, found, result.site)
        self.note_shape(result, found)
        return result

    def note_item(self, item: Opaque, owner: Opaque, keys: Sequence[Value | None], node: cst.CSTNode) -> Opaque:
        """The sizes of an item of something unknown: of one of several tensors, or of a part of what may be one."""
        if type(owner) is Opaque and self.base_store.get(owner, EACH) is not None:
            self.note_part(item, owner, self.whole(keys[0]) if len(keys) == 1 else None)
        else:
            shape = self.indexed_shape(self.noted_shape(owner), keys, node)
            if shape.dims or self.table(owner) not in OF_CELLS:
                self.with_shape(item, shape, None)
                self.note_shape(item, shape)
            self.note_table_item(item, owner, keys, node)
        return item

    def indexed_shape(self, shape: Shape, keys: Sequence[Value | None], node: cst.CSTNode) -> Shape:
        if not shape.dims and shape.open:
            return ANY
        written = [element.slice for element in node.slice] if type(node) is cst.Subscript else []
        if len(written) != len(keys):
            return ANY
        dots = [n for n, part in enumerate(written) if type(part) is cst.Index and type(part.value) is cst.Ellipsis]
        if dots:
            taken = sum(key is not NONE for key in keys) - 1
            if len(dots) > 1 or shape.open and (dots[0] or len(shape.dims) < taken) or len(shape.dims) < taken:
                return ANY
            split = len(shape.dims) - sum(key is not NONE for key in keys[dots[0] + 1 :])
            first = sum(key is not NONE for key in keys[: dots[0]])
            before = self._taken(shape.dims[:first], keys[: dots[0]], written[: dots[0]])
            behind = self._taken(shape.dims[split:], keys[dots[0] + 1 :], written[dots[0] + 1 :])
            return ANY if before is None or behind is None else Shape((*before, *shape.dims[first:split], *behind), shape.open)
        left = shape.dims
        count = sum(key is not NONE for key in keys)
        if shape.open:
            return self._behind_keys(shape, keys, written)
        if count > len(left):
            return ANY
        dims = self._taken(left[:count], keys, written)
        return ANY if dims is None else Shape((*dims, *left[count:]), False)

    def _behind_keys(self, shape: Shape, keys: Sequence[Value | None], written) -> Shape:
        """What is known of the last dimensions of x[:, -1, :] where nobody knows how many there are: those that no key but a bare colon
        can be about, however many there are."""
        if not all(type(part) is cst.Slice or isinstance(self.whole(key), int) for key, part in zip(keys, written)):
            return ANY
        bare = [type(part) is cst.Slice and part.lower is part.upper is part.step is None for part in written]
        least = max(len(keys), len(shape.dims))
        kept = 0
        while kept < len(shape.dims) and all(bare[max(least - kept - 1, 0) :]):
            kept += 1
        return Shape(shape.dims[len(shape.dims) - kept :], True)

    def _taken(self, dims: Sequence[Size], keys, written) -> list[Size] | None:
        """What each key leaves of its dimension; None where that cannot be told."""
        left, result, lists = list(dims), [], 0
        for key, part in zip(keys, written):
            if key is NONE:
                result.append(1)
            elif type(part) is cst.Slice:
                result.append(self._sliced(left.pop(0), part))
            elif isinstance(self.whole(key), int):
                left.pop(0)
            else:
                shape = self.nested_shape(key) if isinstance(key, (Seq, Opaque)) else ANY
                lists += 1
                if shape.rank != 1 or lists > 1 or len(keys) > 1 and not all(k is None for k in keys if k is not key):
                    return None  # a mask, several lists of numbers, ...
                left.pop(0)
                # Of a mask only those that hold are taken.
                result.append(shape.dims[0] if isinstance(key, Tensor) and key.traits.get("made") in ("randperm", "arange") else None)
        return result

    def lies_as_before(self, owner: Tensor, node: cst.CSTNode) -> bool:
        """Whether x[:5] of what a transpose took out of order is still so: more than one row of it is left."""
        part = node.slice[0].slice if type(node) is cst.Subscript and len(node.slice) == 1 else None
        if type(part) is not cst.Slice or part.lower is not None or part.step is not None or not isinstance(owner.traits.get("layout"), tuple):
            return False
        if not isinstance(part.upper, (cst.Name, cst.Integer)):
            return part.upper is None
        return any((self.whole(alt) or 0) > 1 for alt in real(self.eval(part.upper)))

    def _sliced(self, size: Size, part: cst.Slice) -> Size:
        bounds = []
        for bound in (part.lower, part.upper, part.step):
            value = None if bound is None else self.whole(self.eval(bound)) if isinstance(bound, (cst.Integer, cst.UnaryOperation)) else "?"
            if value == "?" or bound is not None and value is None:
                return None
            bounds.append(value)
        if bounds == [None, None, None]:
            return size
        return len(range(*slice(*bounds).indices(size))) if isinstance(size, int) and bounds[2] != 0 else None

    # -- values that have several tensors in them ---------------------------------------------------------------------

    def note_each(self, value: Value, each: Shape | tuple[Shape, ...] | None) -> Value:
        if type(value) is Opaque and each and each != ANY:
            self.base_store.set(value, EACH, each)
        return value

    def part_shape(self, value: Value, index: int | None = None) -> Shape:
        """The sizes of an item of a value: of one of several tensors, or of a row of a tensor."""
        if isinstance(value, Tensor):
            shape = self.shape_of(value)
            return Shape(shape.dims[1:], False) if shape.rank else ANY
        each = self.base_store.get(value, EACH) if type(value) is Opaque else None
        if each is None:
            shape = self.noted_shape(value)
            return Shape(shape.dims[1:], False) if shape.rank and (shape.rank > 1 or self.table(value) not in OF_CELLS) else ANY
        if isinstance(each, Shape):
            return each
        return each[index] if isinstance(index, int) and -len(each) <= index < len(each) else each[0] if len(set(each)) == 1 else ANY

    def note_part(self, part: Value, whole: Value, index: int | None = None) -> Value:
        """Notes the sizes of an item that was taken out of a value."""
        found = self.part_shape(whole, index)
        if isinstance(part, Tensor):
            return self.with_shape(part, found, part.site)
        self.note_shape(part, found)
        self.note_kind_of_part(part, whole, index)
        return part

    def several(self, name: str, shape: Shape, args, kwargs) -> Shape | tuple[Shape, ...] | None:
        """What x.split(8), x.max(1), x.topk(3) have in them."""
        given = [*args, *kwargs.values()]
        if kwargs.keys() & {"*", "**"} or any(len(real(value)) != 1 for value in given):
            return None
        if name in ("split", "chunk", "unbind"):
            at = 0 if name == "unbind" else 1
            dim = self.whole(kwargs.get("dim", args[at] if len(args) > at else Const(0)))
            if dim is None or shape.open and dim >= 0 or not -len(shape.dims) <= dim < len(shape.dims):
                return None
            if name == "unbind":
                return shapes.reduced(shape, [dim], False)
            at, size, count = dim % len(shape.dims), shape.dims[dim], self.whole(args[0]) if args else None
            whole = isinstance(size, int) and isinstance(count, int) and count > 0 and size % count == 0
            piece = (count if name == "split" else size // count) if whole else None
            return Shape((*shape.dims[:at], piece, *shape.dims[at + 1 :]), shape.open)
        if name == "sort":
            return shape, shape
        at = {"topk": 1, "kthvalue": 1}.get(name, 0)
        dim = kwargs.get("dim", args[at] if len(args) > at else None)
        number = self.whole(dim) if dim is not None else -1 if name in ("topk", "kthvalue") else None
        if number is None or isinstance(dim, Tensor) or shape.open and number >= 0 or not -len(shape.dims) <= number < len(shape.dims):
            return None
        if name == "topk":
            count = self.whole(args[0] if args else kwargs.get("k"))
            at = number % len(shape.dims)
            found = Shape((*shape.dims[:at], count, *shape.dims[at + 1 :]), shape.open)
        else:
            keep = kwargs.get("keepdim", args[at + 1] if len(args) > at + 1 else None)
            keeps = False if keep is None else boolean(keep)
            if keeps is None:
                return None
            found = shapes.reduced(shape, [number], keeps)
        return (found, found)

    # -- stacks -------------------------------------------------------------------------------------------------------

    def stacked_shape(self, name: str, first: Value | None, args, kwargs) -> Shape:
        """torch.stack, and torch.cat of a list of which one item stands for all."""
        items = self.store.get(first, "[]") if isinstance(first, Seq) else None
        if items is None or not items.known:
            return ANY
        rows = {self.noted_shape(item) for item in items.known}
        row, dim = rows.pop(), self.whole(kwargs.get("dim", args[1] if len(args) > 1 else Const(0)))
        if rows or dim is None:
            return ANY
        if name == "stack":
            return self._inserted(row, dim, None if items.open else len(items.known))
        if not items.open or row.open or not -len(row.dims) <= dim < len(row.dims):
            return ANY
        at = dim % len(row.dims)
        return Shape((*row.dims[:at], None, *row.dims[at + 1 :]), False)

    def _inserted(self, shape: Shape, dim: int, size: Size) -> Shape:
        at = dim if dim >= 0 else len(shape.dims) + 1 + dim
        if shape.open and dim >= 0 or not 0 <= at <= len(shape.dims):
            return ANY
        return Shape((*shape.dims[:at], size, *shape.dims[at:]), shape.open)
