"""Which dimension is which: whose size a number is, where the batch stands, and what takes one for another."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.torch_api.shapes import Shape, Size, product
from torchlint.dryrun.values import Const, Instance, Opaque, Ref, Seq, Tensor, Value, number

# Where these take batch_first among their positional arguments.
_BATCH_FIRST_AT = {
    "torch.nn.LSTM": 4,
    "torch.nn.GRU": 4,
    "torch.nn.RNN": 5,
    "torch.nn.MultiheadAttention": 8,
    "torch.nn.TransformerEncoderLayer": 6,
}

_LEAST_SIDE = 4  # pixels of an image: fewer may be a grid of something else


def steps_first(module: Instance) -> bool:
    """Whether a layer takes (steps, batch, features) for certain."""
    layer = module
    if module.type == "torch.nn.TransformerEncoder":
        layer = module.arg(0, "encoder_layer")
        if not isinstance(layer, Instance) or layer.type != "torch.nn.TransformerEncoderLayer":
            return False
    if layer.type not in _BATCH_FIRST_AT or {"*", "**"} & layer.kwargs.keys():
        return False
    given = layer.arg(_BATCH_FIRST_AT[layer.type], "batch_first")
    return given is None or isinstance(given, Const) and given.value is False


def _only_times(node: cst.BaseExpression) -> bool:
    """Whether an expression is a product of names, items and calls."""
    if type(node) is cst.BinaryOperation:
        return type(node.operator) is cst.Multiply and _only_times(node.left) and _only_times(node.right)
    return not isinstance(node, (cst.Integer, cst.Float, cst.UnaryOperation))


def _moved_colours(shape: Shape, sizes: list[Size]) -> tuple[int, ...] | None:
    """The order in which a view takes the dimensions of images, where it takes the three colours from the end to the front, or back."""
    rank = shape.rank
    while rank and len(sizes) > rank and sizes[0] in (1, -1):
        sizes = sizes[1:]
    if rank not in (3, 4) or len(sizes) != rank:
        return None
    had, asked = shape.dims[-3:], sizes[-3:]
    if had[2] == 3 == asked[0] and _may_be_sides(had[:2], asked[1:]):
        return (*range(rank - 3), rank - 1, rank - 3, rank - 2)
    if had[0] == 3 == asked[2] and None not in had and _may_be_sides(had[1:], asked[:2]):
        return (*range(rank - 3), rank - 2, rank - 1, rank - 3)
    return None


def _may_be_sides(had: Sequence[Size], asked: Sequence[Size]) -> bool:
    """Whether the height and the width that a view is given may be those that images have."""
    return all(isinstance(size, int) and size > _LEAST_SIDE and old in (None, size) for old, size in zip(had, asked))


class Axes:
    """The part of a run that tells dimensions apart. See `interpreter.Run` for the state it works on."""

    def note_dimension(self, value: Value, index: int | None, count: int | None = None) -> None:
        """Notes that a value is x.size(index), one of `count` where all of them were taken at once."""
        if type(value) is Opaque and index is not None:
            self.base_store.set(value, " dimension", (index, count))

    def sizes_asked(self, name: str, owner: Value, args: Sequence[Value], kwargs, made: Value, node) -> None:
        """Notes what x.size(0) is; looks at the sizes that x.view(...) is given, and the dimension of x.mean(1)."""
        if name == "size" and len(args) == 1:
            self.note_dimension(made, self.whole(args[0]))
        elif name == "mean" and (dim := kwargs.get("dim", args[0] if args else None)) is not None and number(dim) == 1:
            self.emit_batch_taken(owner, node, "mean")
        elif name in ("view", "reshape"):
            items = self.items_of(args[0]) if len(args) == 1 and isinstance(args[0], Seq) else args
            self.emit_arranged(owner, items or (), node)

    def dimensions(self, value: Value, owner: Value) -> tuple[set[int], int | None] | None:
        """Which dimensions of `owner` a size is, or is the product of; and how many there are, if known."""
        if type(value) is not Opaque:
            return None
        whose, noted = value.origin, self.base_store.get(value, " dimension")
        if type(whose) is Opaque and whose.name in ("shape", "size"):
            index, count = noted or (int(value.name) if value.name.isdigit() else -1, None)
            return ({index}, count) if index >= 0 and whose.origin is owner else None
        if value.name == "size" and whose is owner:
            return ({noted[0]}, None) if noted is not None and noted[0] >= 0 else None
        node = value.site.node if value.site is not None else None
        if type(node) is not cst.BinaryOperation or not _only_times(node):
            return None
        factors = [part for part in value.parts if not (type(part) is Opaque and part.source == "op")]
        found = [self.dimensions(part, owner) for part in factors]
        if not found or None in found:
            return None
        return set().union(*(one for one, _ in found)), max((count for _, count in found if count), default=None)

    def emit_arranged(self, owner: Value, args: Sequence[Value], node) -> None:
        """x.view(...) is given the sizes of x itself, in another order."""
        if self.unsure or not isinstance(owner, Opaque) or len(args) < 2:
            return
        order = _moved_colours(self.noted_shape(owner), [self.whole(arg) for arg in args])
        if order is not None:
            self.emit("arranged", owner, node, order=order)
        if order is not None or owner.source == "item":
            return
        order = []
        count, rest = None, None
        for arg in args:
            if number(arg) == 1:
                continue
            if number(arg) == -1:
                rest = len(order)
                continue
            found = self.dimensions(arg, owner)
            if found is None or found[0] & set(order):
                return self.emit_permuted(owner, args, node)
            order += sorted(found[0])
            count = count or found[1]
        missing = sorted(set(range(count)) - set(order)) if count else []
        if rest is not None:
            order[rest:rest] = missing
            missing = []
        shape, rank = self.noted_shape(owner), count or max(order, default=0) + 1
        order = [index for index in order if shape.at(index - rank) != 1]  # a size of 1 may stand anywhere
        if len(order) > 1 and not missing and order != sorted(order):
            self.emit("arranged", owner, node, order=tuple(order))

    def emit_permuted(self, owner: Value, args: Sequence[Value], node) -> None:
        """The same with numbers: a batch of which the other dimensions change places."""
        shape, sizes = self.noted_shape(owner), [self.whole(arg) for arg in args]
        if shape.rank is None or shape.rank < 3:
            return
        if sizes[0] == -1 and product(shape.dims[1:]) == product(sizes[1:]):
            sizes[0] = shape.dims[0]
        if not all(isinstance(size, int) and size > 1 for size in (*shape.dims, *sizes)):
            return
        distinct, had = len(set(shape.dims)) == shape.rank, list(shape.dims)
        if distinct and sorted(had) == sorted(sizes) and sizes[0] == had[0] and sizes != had:
            self.emit("arranged", owner, node, order=tuple(shape.dims.index(size) for size in sizes))

    # -- sequences ------------------------------------------------------------------------------------------------

    def note_column(self, value: Value, whole: Value, index: int) -> None:
        """Notes that a value is one of the several that a layer gave, or a loader."""
        if type(value) is Opaque and type(whole) is Opaque and isinstance(whole.origin, Instance):
            self.base_store.set(value, " column", index)

    def time_first(self, value: Value) -> tuple[Instance, Value] | None:
        """The layer without batch_first, and its input, of which a value is the output: (steps, batch, features)."""
        whole = value.origin if type(value) is Opaque else None
        if isinstance(value, Tensor) and isinstance(value.origin, Instance):
            whole = value
        elif whole is None or self.base_store.get(value, " column") != 0 and value.name != "0":
            return None
        module = whole.origin if isinstance(whole, Opaque) else None
        if not isinstance(module, Instance) or not isinstance(module.cls, Ref) or not steps_first(module):
            return None
        for event in whole.flows:
            here = whole.site is not None and event.site.node is whole.site.node
            if event.subject is module and event.get("args") and here:
                return module, event.args[0]
        return None

    def emit_batch_taken(self, value: Value, node, how: str) -> None:
        """Dimension 1, the batch, of such an output is worked on as if it were the steps."""
        found = self.time_first(value) if not self.unsure else None
        if found is not None:
            module, given = found
            self.emit("batch_taken", module, node, given=given, shape=self.noted_shape(given), how=how)

    def last_of(self, owner: Value, keys: Sequence[Value | None], node) -> None:
        """x[:, -1] or x[:, -1, :]."""
        two_or_three = isinstance(owner, Opaque) and len(keys) in (2, 3)
        if two_or_three and keys[0] is None and number(keys[1]) == -1 and not any(keys[2:]):
            self.emit_batch_taken(owner, node, "last")
