"""Carries the sizes of tensors through a run: what functions and methods of torch make of them.

Sizes live in the trait `shape` of a tensor; an event "shape" says where two of them cannot go together.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.torch_api import shapes
from torchlint.dryrun.torch_api.axes import Axes
from torchlint.dryrun.torch_api.batches import Batches
from torchlint.dryrun.torch_api.image_shapes import ImageShapes
from torchlint.dryrun.torch_api.item_shapes import SEVERAL, ItemShapes
from torchlint.dryrun.torch_api.layer_shapes import LayerShapes
from torchlint.dryrun.torch_api.made_shapes import COPIES, COUNTS, FILLED, LEGACY, MadeShapes
from torchlint.dryrun.torch_api.shapes import ANY, Clash, Shape, Size
from torchlint.dryrun.torch_api.tables import Tables
from torchlint.dryrun.values import Const, Instance, Opaque, Seq, Tensor, Union, Value, boolean, number, real

_SAME = frozenset(
    """relu relu_ relu6 gelu elu selu celu silu mish tanh tanh_ sigmoid sigmoid_ softmax log_softmax softplus leaky_relu leaky_relu_ hardtanh
    hardswish hardsigmoid logsigmoid dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout abs exp log log1p sqrt
    rsqrt sin cos neg square clamp clamp_ clip round floor ceil sign clone contiguous to cuda cpu float double half bfloat16 long int
    bool detach detach_ data requires_grad_ type pin_memory nan_to_num cumsum masked_fill normalize instance_norm""".split()
)
_PAIRS = frozenset({"eq", "ne", "sub"})
_REDUCES = frozenset({"sum", "mean", "prod", "std", "var", "logsumexp", "amax", "amin", "argmax", "argmin", "norm", "all", "any"})
_RESHAPES_IN_PLACE = frozenset(
    {"unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "resize_", "resize_as_", "set_", "as_strided_"}
)
_TURNS = frozenset({"permute", "transpose"})
_ELEMENTWISE = frozenset({"Add", "Subtract", "Multiply", "Divide"})
_NUMBER = Shape((), False)
_WITH_ANOTHER = frozenset({"add", "sub", "mul", "div", "pow", "add_", "sub_", "mul_", "div_"})
_COMPARES = frozenset({"Equal", "NotEqual", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"})


def _is_plain_number(value: Value) -> bool:
    """Whether it is a number of Python's, which leaves sizes as they are."""
    return isinstance(value, Const) or type(value) is Opaque and "number" in value.tags and "numbers" not in value.tags


class Shaped(LayerShapes, MadeShapes, ItemShapes, ImageShapes, Tables, Batches, Axes):
    """The part of a run that knows sizes. See `interpreter.Run` for the state it works on."""

    def shape_of(self, value: Value | None) -> Shape:
        """What is known of the sizes of a value."""
        if isinstance(value, Tensor):
            return value.traits.get("shape", ANY)
        if not isinstance(value, Union):
            return ANY
        return shapes.shared(alt.traits.get("shape", ANY) if isinstance(alt, Tensor) else ANY for alt in real(value))

    def with_shape(self, value: Value, shape: Shape, site) -> Value:
        """Notes the sizes of a tensor that was just made; `site` is what gave it its last ones."""
        if isinstance(value, Tensor) and shape != ANY:
            value.traits["shape"] = shape
            if site is not None:
                value.sites["shape"] = site
        return value

    def forget_shape(self, value: Tensor, sizes: Shape = ANY) -> None:
        """Notes that a tensor has got other sizes in its place, `sizes` where they are known: so has what it is the data of.
        What it had before may be so still, where this is not run: what is left is what both have."""
        changed: Value | None = value
        while isinstance(changed, Tensor):
            left = shapes.shared((self.shape_of(changed), sizes))
            if left == ANY:
                changed.traits.pop("shape", None)
            else:
                changed.traits["shape"] = left
            changed = changed.traits.get("alias")

    def clash(self, clash: Clash | None, given: Value | None, node, module: Instance | None = None, operation: str = "",
              whole: Value | None = None) -> None:
        """Tells that sizes do not fit, if they do so for certain."""
        if clash is None or self.unsure:
            return
        source = given.sites.get("shape") if isinstance(given, Tensor) else None
        self.emit("shape", module, node, clash=clash, source=source, shape=self.shape_of(given), operation=operation, chained=self.chained,
                  whole=whole)

    def numbers(self, value: Value | None) -> list[Size] | None:
        """The sizes that an argument gives: numbers, or a tuple or list of them; None where it is neither."""
        if isinstance(value, (Const, Opaque)) and not isinstance(value, Tensor):
            return [self.whole(value)]
        if isinstance(value, Union) and self.is_one_size(value):
            return [None]
        items = self.items_of(value) if isinstance(value, Seq) else None
        return None if items is None else [self.whole(item) for item in items]

    def whole(self, value: Value | None) -> int | None:
        found = number(value)
        return found if isinstance(found, int) else None

    def listed(self, args: Sequence[Value]) -> list[Size] | None:
        """Sizes given one by one, or as one tuple."""
        if len(args) == 1:
            return self.numbers(args[0])
        return [self.whole(arg) for arg in args] if args else None

    # -- functions and methods ------------------------------------------------------------------------------------

    def function_shape(self, name: str, last: str, args, kwargs, result: Value, node) -> Value:
        """The result of a function of torch."""
        first = args[0] if args else kwargs.get("input", kwargs.get("tensors"))
        if last in ("dropout1d", "dropout2d", "dropout3d"):
            self.emit_rank(last.capitalize(), first, node)
        if name == f"torch.{last}":
            self.paired(last, args, kwargs, node)
        if last in SEVERAL and type(result) is Opaque and first is not None:
            return self.note_each(result, self.several(last, self.noted_shape(first), args[1:], kwargs))
        if not isinstance(result, Tensor) or "shape" in result.traits:
            return result
        site = self.site(node)
        if last in ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"):
            return self.with_shape(result, self.shape_of(first), site)
        if last in COPIES or last in COUNTS or last in FILLED or last in LEGACY or last in ("full", "randint"):
            return self.with_shape(result, self.new_shape(last, args, kwargs), site)
        if last in _REDUCES and name == f"torch.{last}" and len(args) == 1 and not kwargs:
            return self.with_shape(result, Shape((), False), site)  # one number, whatever it is of
        if last == "interpolate":
            sizes, factor = kwargs.get("size", args[1] if len(args) > 1 else None), kwargs.get("scale_factor", args[2] if len(args) > 2 else None)
            return self.with_shape(result, self.interpolated_shape(self.noted_shape(first), sizes, factor), site)
        if last == "stack":
            return self.with_shape(result, self.stacked_shape(last, first, args, kwargs), site)
        if last == "one_hot":
            count = self.whole(args[1] if len(args) > 1 else kwargs.get("num_classes"))
            shape = self.noted_shape(first)
            return self.with_shape(result, Shape((*shape.dims, count if count and count > 0 else None), shape.open), site)
        if last in ("cat", "concat", "concatenate"):
            items = self.items_of(first) if isinstance(first, Seq) else None
            dim = kwargs.get("dim", args[1] if len(args) > 1 else Const(0))
            if items and all(isinstance(item, Tensor) or self.noted_shape(item) != ANY for item in items):
                shape, clash = shapes.joined([self.noted_shape(item) for item in items], self.whole(dim))
                if all(isinstance(item, Tensor) for item in items):
                    self.clash(clash, items[-1], node, operation="torch.cat")
                return self.with_shape(result, shape, site)
            return self.with_shape(result, self.stacked_shape(last, first, args, kwargs), site)
        if last in ("matmul", "mm", "bmm") and len(args) > 1:
            return self.product_shape(args[0], args[1], result, node, last)
        if isinstance(first, Tensor) and (name.startswith("torch.nn.functional.") or name.count(".") == 1):
            return self.method_shape(last, first, args[1:], kwargs, result, node)
        return result

    def method_shape(self, name: str, owner: Tensor, args, kwargs, result: Value, node) -> Value:
        """The result of a method of a tensor (or of the function of the same name)."""
        if name in _RESHAPES_IN_PLACE:
            resized = self.sizes_shape(args) if name == "resize_" and not kwargs else ANY
            self.forget_shape(owner, resized)
        if name in SEVERAL and type(result) is Opaque:
            return self.note_each(result, self.several(name, self.shape_of(owner), args, kwargs))
        if result is owner or not isinstance(result, Tensor) or "shape" in result.traits:
            return result
        if name in ("split", "chunk", "unbind"):  # one tensor stands for them all, as if they were its rows
            piece = self.several(name, self.shape_of(owner), args, kwargs)
            return self.with_shape(result, Shape((None, *piece.dims), False) if piece and not piece.open else ANY, self.site(node))
        shape, site = self.shape_of(owner), self.site(node)
        if name in _SAME or name in _WITH_ANOTHER and len(args) == 1 and not kwargs and _is_plain_number(args[0]):
            return self.with_shape(result, shape, owner.sites.get("shape"))
        if name in _WITH_ANOTHER and len(args) == 1 and not kwargs and isinstance(args[0], Tensor):
            made, clash = shapes.broadcast(shape, self.shape_of(args[0]))
            self.clash(clash, args[0], node, operation=name)
            return self.with_shape(result, made, site)
        if name in ("view", "reshape"):
            sizes = self.listed(args) if not kwargs else None
            if sizes is None or len(args) == 1 and isinstance(args[0], Opaque):
                return result
            made, clash = shapes.viewed(shape, sizes)
            if len(args) == 2 and sizes[1] == -1 and self.counts_first(args[0], node):
                made = shapes.flattened(shape, 1, -1)
            self.clash(clash, owner, node, operation=name)
            return self.with_shape(result, made, site)
        if name == "flatten":
            start = kwargs.get("start_dim", args[0] if args else Const(0))
            end = kwargs.get("end_dim", args[1] if len(args) > 1 else Const(-1))
            return self.with_shape(result, shapes.flattened(shape, self.whole(start), self.whole(end)), site)
        if name == "permute":
            order = self.listed(args)
            return self.with_shape(result, shapes.permuted(shape, order), site) if order and not kwargs else result
        if name in ("transpose", "swapaxes", "swapdims") and len(args) == 2:
            return self.with_shape(result, shapes.transposed(shape, self.whole(args[0]), self.whole(args[1])), site)
        if name == "t":
            return self.with_shape(result, shapes.transposed(shape, -1, -2) if shape.rank == 2 else ANY, site)
        if name == "ravel":
            return self.with_shape(result, Shape((None,), False), site)
        if name == "squeeze":
            index = args[0] if args else kwargs.get("dim")
            return self.with_shape(result, shapes.squeezed(shape, self.whole(index), every=index is None), site)
        if name == "gather":
            index = args[1] if len(args) > 1 else kwargs.get("index")
            return self.with_shape(result, self.noted_shape(index), site)
        if name in ("view_as", "reshape_as", "expand_as"):
            return self.with_shape(result, self.noted_shape(args[0] if args else None), site)
        if name == "unsqueeze":
            index = args[0] if args else kwargs.get("dim")
            return self.with_shape(result, shapes.inserted(shape, self.whole(index)), site)
        if name in _REDUCES:
            dim = kwargs.get("dim", args[0] if args and name != "norm" else None)
            keep = boolean(kwargs.get("keepdim")) if "keepdim" in kwargs else False
            if len(args) > 1 and name not in ("norm", "logsumexp"):
                keep = boolean(args[1])
            sizes = self.numbers(dim) if dim is not None and keep is not None and len(args) < 3 else None
            if sizes:
                return self.with_shape(result, shapes.reduced(shape, sizes, bool(keep)), site)
            if not args and not kwargs:
                return self.with_shape(result, Shape((), False), site)
        if name in ("max", "min", "median") and not args and not kwargs:
            return self.with_shape(result, Shape((), False), site)
        if name == "expand" and not kwargs:
            return self.with_shape(result, shapes.expanded(shape, self.listed(args) or ()), site)
        if name in ("repeat", "tile") and not kwargs:
            return self.with_shape(result, shapes.repeated(shape, self.listed(args) or ()), site)
        if name in ("new_zeros", "new_ones", "new_empty") and args:
            return self.with_shape(result, self.sizes_shape(args), site)
        if name == "matmul" and args:
            return self.product_shape(owner, args[0], result, node, name)
        return result

    def counts_first(self, value: Value, node) -> bool:
        """Whether the first size given to x.view is x.size(0) or x.shape[0], as it is written."""
        if type(node) is not cst.Call or type(node.func) is not cst.Attribute or not node.args:
            return False
        text = self.parsed.text
        owner = text(node.func.value)
        return text(node.args[0].value).replace(" ", "") in (f"{owner}.size(0)", f"{owner}.shape[0]", f"len({owner})")

    # -- functions of two tensors ---------------------------------------------------------------------------------

    def product_shape(self, left: Value, right: Value, result: Value, node, name: str) -> Value:
        shape, clash = shapes.multiplied(self.shape_of(left), self.shape_of(right))
        self.clash(clash, left, node, operation=name)
        return self.with_shape(result, shape, self.site(node))

    def emit_outer(self, left: Value, right: Value, node) -> None:
        """A column, (..., 1), may meet a row."""
        one, two = self.noted_shape(left), self.noted_shape(right)
        if {one.rank, two.rank} & {1} and (one.at(-1) == 1) != (two.at(-1) == 1) and not self.unsure:
            self.emit("outer", None, node, sides=(left, right), shapes=(one, two))

    def paired(self, name: str, given: Sequence[Value], kwargs, node) -> None:
        """A function or method that is another word for a difference or comparison: `torch.eq(pred, y)`, `pred.eq(y)`."""
        if name in _PAIRS and len(given) == 2 and not kwargs:
            self.emit_outer(*given, node)

    def arithmetic_shape(self, operator: str, left: Value, right: Value, result: Value, node) -> Value:
        """The result of left + right and its like."""
        if not isinstance(result, Tensor):
            return result
        if operator in ("Subtract", "Equal", "NotEqual"):
            self.emit_outer(left, right, node)
        if operator == "MatrixMultiply":
            return self.product_shape(left, right, result, node, "@")
        if operator in _ELEMENTWISE or operator in _COMPARES:
            sides = [side for side in (left, right) if isinstance(side, Tensor)]
            if len(sides) == 2:
                shape, clash = shapes.broadcast(self.shape_of(left), self.shape_of(right))
                self.clash(clash, right, node, operation=operator)
                return self.with_shape(result, shape, self.site(node))
            other = right if sides and sides[0] is left else left
            if sides and _is_plain_number(other):
                return self.with_shape(result, self.shape_of(sides[0]), sides[0].sites.get("shape"))
        return result

    # -- values that are no tensors for certain -------------------------------------------------------------------

    def noted_shape(self, value: Value | None) -> Shape:
        """The sizes of a value that is a tensor or may be one."""
        if isinstance(value, Opaque) and not isinstance(value, Tensor):
            return self.base_store.get(value, " shape") or ANY
        return self.shape_of(value)

    def noted_arithmetic(self, operator: str, left: Value, right: Value, result: Opaque) -> Opaque:
        """The result of left + right and its like, of values that may be tensors."""
        if operator not in _ELEMENTWISE:
            return result
        found = []
        for side in (left, right):
            found.append(_NUMBER if isinstance(side, Const) else self.noted_shape(side))
            if found[-1] is ANY:
                return result
        self.note_shape(result, shapes.broadcast(*found)[0])
        return result

    def note_shape(self, value: Value, shape: Shape) -> None:
        if type(value) is Opaque and shape != ANY:
            self.base_store.set(value, " shape", shape)

    def seen_shape(self, name: str, owner: Value, args, kwargs, result: Value, node) -> Value:
        """What methods that only tensors and arrays have, called on something unknown, leave of its sizes."""
        if type(owner) is Opaque and name in _RESHAPES_IN_PLACE and self.noted_shape(owner) != ANY:
            self.base_store.set(owner, " shape", ANY)
        if type(owner) is not Opaque or not isinstance(result, Opaque) or result is owner or "module" in owner.tags:
            return result
        stand_in = Tensor("", "op", None, traits={"shape": self.noted_shape(owner)})
        known = self.noted_shape(owner) != ANY
        if name in SEVERAL and known and type(result) is Opaque:
            return self.note_each(result, self.several(name, self.noted_shape(owner), args, kwargs))
        if name in ("astype", "copy", "numpy") and known:
            self.note_shape(result, self.noted_shape(owner))
            return result
        if name in ("view", "reshape", "flatten", "squeeze", "unsqueeze") or known and (name in _SAME or name in _REDUCES or name in _TURNS):
            shape = self.shape_of(self.method_shape(name, stand_in, args, kwargs, Tensor(), node))
            if isinstance(result, Tensor):
                return self.with_shape(result, shape, self.site(node)) if "shape" not in result.traits else result
            self.note_shape(result, shape)
        return result
