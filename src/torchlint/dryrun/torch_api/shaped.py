"""Carries the sizes of tensors through a run: what layers, functions and methods of torch make of them.

Sizes live in the trait `shape` of a tensor; an event "shape" says where two of them cannot go together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.torch_api import shapes
from torchlint.dryrun.torch_api.shapes import ANY, Clash, Shape, Size
from torchlint.dryrun.values import Const, Instance, Opaque, Ref, Seq, Tensor, Union, Value, boolean, number, real

_LAYER = re.compile(r"torch\.nn\.(?P<kind>Conv|ConvTranspose|BatchNorm|MaxPool|AvgPool|AdaptiveAvgPool|AdaptiveMaxPool)(?P<n>[123])d$")
_KEEPS = re.compile(
    r"torch\.nn\.(?:(?:Feature)?(?:Alpha)?Dropout[123]?d?|Identity|(?:Log)?Softmax(?:2d|in)?|(?:Leaky|P|R)?ReLU6?|GELU|[SC]?ELU|SiLU|Mish"
    r"|Tanh(?:shrink)?|Hard\w+|(?:Log)?Sigmoid|Soft\w+|Threshold|InstanceNorm[123]d|SyncBatchNorm|LocalResponseNorm)$"
)
_SAME = frozenset(
    """relu relu_ relu6 gelu elu selu celu silu mish tanh tanh_ sigmoid sigmoid_ softmax log_softmax softplus leaky_relu leaky_relu_ hardtanh
    hardswish hardsigmoid logsigmoid dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout abs exp log log1p sqrt
    rsqrt sin cos neg square clamp clamp_ clip round floor ceil sign clone contiguous to cuda cpu float double half bfloat16 long int
    bool detach detach_ data requires_grad_ type pin_memory nan_to_num cumsum masked_fill normalize instance_norm""".split()
)
_REDUCES = frozenset({"sum", "mean", "prod", "std", "var", "logsumexp", "amax", "amin", "argmax", "argmin", "norm", "all", "any"})
_MADE = frozenset({"zeros", "ones", "empty", "rand", "randn"})
_RESHAPES_IN_PLACE = frozenset(
    {"unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "resize_", "resize_as_", "set_", "as_strided_"}
)
_ELEMENTWISE = frozenset({"Add", "Subtract", "Multiply", "Divide"})
# Where these take batch_first among their positional arguments.
_BATCH_FIRST_AT = {
    "torch.nn.LSTM": 4,
    "torch.nn.GRU": 4,
    "torch.nn.RNN": 5,
    "torch.nn.MultiheadAttention": 8,
    "torch.nn.TransformerEncoderLayer": 6,
}
_COUNTS = frozenset({"Dropout1d", "Dropout2d", "Dropout3d", "InstanceNorm1d"})
_COMPARES = frozenset({"Equal", "NotEqual", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"})


def _steps_first(module: Instance) -> bool:
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
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, cst.Multiply) and _only_times(node.left) and _only_times(node.right)
    return not isinstance(node, (cst.Integer, cst.Float, cst.UnaryOperation))


class Shaped:
    """The part of a run that knows sizes. See `interpreter.Run` for the state it works on."""

    def shape_of(self, value: Value | None) -> Shape:
        """What is known of the sizes of a value."""
        return value.traits.get("shape", ANY) if isinstance(value, Tensor) else ANY

    def with_shape(self, value: Value, shape: Shape, site) -> Value:
        """Notes the sizes of a tensor that was just made; `site` is what gave it its last ones."""
        if isinstance(value, Tensor) and shape != ANY:
            value.traits["shape"] = shape
            if site is not None:
                value.sites["shape"] = site
        return value

    def clash(self, clash: Clash | None, given: Value | None, node, module: Instance | None = None, operation: str = "") -> None:
        """Tells that sizes do not fit, if they do so for certain."""
        if clash is None or self.unsure:
            return
        source = given.sites.get("shape") if isinstance(given, Tensor) else None
        self.emit("shape", module, node, clash=clash, source=source, shape=self.shape_of(given), operation=operation, chained=self.chained)

    def numbers(self, value: Value | None) -> list[Size] | None:
        """The sizes that an argument gives: numbers, or a tuple or list of them; None where it is neither."""
        if isinstance(value, (Const, Opaque)) and not isinstance(value, Tensor):
            return [self.whole(value)]
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

    def window(self, value: Value | None, n: int, default: int) -> list[Size]:
        """A kernel size, stride or padding for n dimensions."""
        if value is None:
            return [default] * n
        found = self.numbers(value)
        if found is None or len(found) not in (1, n):
            return [None] * n
        return found * n if len(found) == 1 else found

    # -- layers -----------------------------------------------------------------------------------------------------

    def layer_shape(self, module: Instance, given: Value | None, result: Value, node) -> Value:
        """The output of a layer of torch."""
        if not isinstance(module.cls, Ref) or not module.type.startswith("torch.nn.") or isinstance(given, Union) and len(real(given)) > 1:
            return result
        shape, clash = self.through(module, self.shape_of(given))
        self.clash(clash, given, node, module)
        self.emit_rank(module.type.removeprefix("torch.nn."), given, node, module)
        keeps = shape == self.shape_of(given)
        return self.with_shape(result, shape, given.sites.get("shape") if keeps and isinstance(given, Tensor) else module.site)

    def emit_rank(self, layer: str, given: Value | None, node, module: Instance | None = None) -> None:
        """A layer that counts dimensions gets an input of a known number of them."""
        shape = self.shape_of(given)
        if layer in _COUNTS and shape.rank is not None and not self.unsure:
            source = given.sites.get("shape")
            self.emit("rank", module, node, layer=layer, shape=shape, source=source, chained=self.chained)

    def through(self, module: Instance, shape: Shape) -> tuple[Shape, Clash | None]:
        """What a layer of torch makes of a shape, and why it cannot."""
        made, clash = self.through_layer(module, shape)
        # With another number of dimensions there is no output to go on with.
        return (ANY if clash is not None and clash.what == "dimensions" else made), clash

    def through_layer(self, module: Instance, shape: Shape) -> tuple[Shape, Clash | None]:
        name = module.type
        if "**" in module.kwargs or "*" in module.kwargs:
            return ANY, None
        get = module.arg
        if name == "torch.nn.Linear":
            return shapes.linear(shape, self.whole(get(0, "in_features")), self.whole(get(1, "out_features")))
        if name == "torch.nn.Embedding":
            return Shape((*shape.dims, self.whole(get(1, "embedding_dim"))), shape.open), None
        if name == "torch.nn.LayerNorm":
            return shape, shapes.layer_norm(shape, self.numbers(get(0, "normalized_shape")) or ())
        if name == "torch.nn.GroupNorm":
            channels = self.whole(get(1, "num_channels"))
            wrong = shape.rank is not None and shape.rank > 1 and shapes.differ(shape.dims[1], channels)
            return shape, Clash("channels", str(channels), shapes.told(shape.dims[1]), "other") if wrong else None
        if name in ("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.LSTMCell", "torch.nn.GRUCell", "torch.nn.RNNCell"):
            inside = self.whole(get(0, "input_size"))
            return ANY, shapes.linear(shape, inside, None)[1]
        if name in ("torch.nn.TransformerEncoderLayer", "torch.nn.TransformerDecoderLayer", "torch.nn.MultiheadAttention"):
            width = self.whole(get(0, "embed_dim" if name.endswith("Attention") else "d_model"))
            return shapes.linear(shape, width, width)
        if name == "torch.nn.Flatten":
            start, end = get(0, "start_dim"), get(1, "end_dim")
            return shapes.flattened(shape, 1 if start is None else self.whole(start), -1 if end is None else self.whole(end)), None
        if _KEEPS.match(name):
            return shape, None
        match = _LAYER.match(name)
        return self.spatial(module, match["kind"], int(match["n"]), shape) if match else (ANY, None)

    def spatial(self, module: Instance, kind: str, n: int, shape: Shape) -> tuple[Shape, Clash | None]:
        """Convolutions, pooling and batch norm over n dimensions."""
        get = module.arg
        if kind == "BatchNorm":
            return shape, shapes.normalized(shape, n, self.whole(get(0, "num_features")))
        before = shape.tail(n)
        if kind.startswith("Adaptive"):
            wanted = self.window(get(0, "output_size"), n, 0)
            after = [None if size is None else size for size in wanted]
            return self.pooled(shape, n, after), None
        if kind.endswith("Pool"):
            kernel = self.window(get(0, "kernel_size"), n, 0)
            stride = self.window(get(1, "stride"), n, 0) if get(1, "stride") is not None else kernel
            padding = self.window(get(2, "padding"), n, 0)
            dilation = self.window(get(3, "dilation"), n, 1) if kind == "MaxPool" else [1] * n
            ceil = get(5 if kind == "MaxPool" else 3, "ceil_mode") is not None
            after = [shapes.slid(*sizes, ceil=ceil) for sizes in zip(before, kernel, stride, padding, dilation)]
            return self.pooled(shape, n, after), None
        kernel, stride = self.window(get(2, "kernel_size"), n, 0), self.window(get(3, "stride"), n, 1)
        given = get(4, "padding")
        dilation = self.window(get(8 if kind == "ConvTranspose" else 5, "dilation"), n, 1)
        if kind == "ConvTranspose":
            padding, extra = self.window(given, n, 0), self.window(get(5, "output_padding"), n, 0)
            after = [shapes.widened(*sizes) for sizes in zip(before, kernel, stride, padding, extra, dilation)]
        elif isinstance(given, Const) and given.value == "same":
            after = list(before)
        else:
            padding = [0] * n if isinstance(given, Const) and given.value == "valid" else self.window(given, n, 0)
            after = [shapes.slid(*sizes) for sizes in zip(before, kernel, stride, padding, dilation)]
        return shapes.convolution(shape, self.whole(get(0, "in_channels")), self.whole(get(1, "out_channels")), after)

    def pooled(self, shape: Shape, n: int, after: Sequence[Size]) -> Shape:
        if not shape.open and len(shape.dims) <= n:
            return ANY
        return Shape((*shape.dims[: max(len(shape.dims) - n, 0)], *after), shape.open)

    def check_chain(self, made: Instance, items: Sequence[Value], node) -> None:
        """The layers of a Sequential, one after the other, whatever goes in."""
        shape, source = ANY, None
        for item in items:
            if not isinstance(item, Instance) or not isinstance(item.cls, Ref):
                shape, source = ANY, None
                continue
            before = Tensor("", "op", None, traits={"shape": shape}, sites={} if source is None else {"shape": source})
            after, clash = self.through(item, shape)
            if clash is not None:
                self.chained += 1
                self.clash(clash, before, node, item)
                self.chained -= 1
            if after != shape:
                source = item.site
            shape = after

    def check_heads(self, made: Instance, node) -> None:
        """Attention splits its width among the heads."""
        names = {"torch.nn.MultiheadAttention": "embed_dim", "torch.nn.Transformer": "d_model"}
        name = names.get(made.type, "d_model")
        if made.type not in names and not made.type.startswith("torch.nn.Transformer") or {"*", "**"} & made.kwargs.keys():
            return
        heads_name = "num_heads" if name == "embed_dim" else "nhead"
        width, heads = self.whole(made.arg(0, name)), self.whole(made.arg(1, heads_name))
        if made.type == "torch.nn.Transformer":
            width, heads = 512 if made.arg(0, name) is None else width, 8 if made.arg(1, heads_name) is None else heads
        if width and heads and width % heads:
            self.emit("heads", made, node, width=width, heads=heads, width_name=name, heads_name=heads_name)

    # -- functions and methods --------------------------------------------------------------------------------------

    def function_shape(self, name: str, last: str, args, kwargs, result: Value, node) -> Value:
        """The result of a function of torch."""
        first = args[0] if args else kwargs.get("input", kwargs.get("tensors"))
        if last in ("dropout1d", "dropout2d", "dropout3d"):
            self.emit_rank(last.capitalize(), first, node)
        if not isinstance(result, Tensor) or "shape" in result.traits:
            return result
        site = self.site(node)
        if last in ("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like"):
            return self.with_shape(result, self.shape_of(first), site)
        if last in ("tensor", "arange", "linspace", "randperm"):
            return self.with_shape(result, self.listed_shape(last, first, args, kwargs), site)
        if last in _MADE or last in ("full", "randint"):
            return self.with_shape(result, self.made_shape(last, args, kwargs), site)
        if last in ("cat", "concat", "concatenate"):
            items = self.items_of(first) if isinstance(first, Seq) else None
            dim = kwargs.get("dim", args[1] if len(args) > 1 else Const(0))
            if items and all(isinstance(item, Tensor) for item in items):
                shape, clash = shapes.joined([self.shape_of(item) for item in items], self.whole(dim))
                self.clash(clash, items[-1], node, operation="torch.cat")
                return self.with_shape(result, shape, site)
            return result
        if last in ("matmul", "mm", "bmm") and len(args) > 1:
            return self.product_shape(args[0], args[1], result, node, last)
        if isinstance(first, Tensor) and (name.startswith("torch.nn.functional.") or name.count(".") == 1):
            return self.method_shape(last, first, args[1:], kwargs, result, node)
        return result

    def made_shape(self, last: str, args, kwargs) -> Shape:
        at = {"full": slice(0, 1), "randint": slice(2, 3) if len(args) > 2 else slice(1, 2)}.get(last, slice(None))
        given = list(args[at]) or ([kwargs["size"]] if "size" in kwargs else [])
        if "*" in kwargs:
            return ANY
        if last in ("full", "randint") and (not given or not isinstance(given[0], Seq)):
            return ANY
        sizes = self.listed(given)
        if sizes is None or len(given) == 1 and not isinstance(given[0], (Seq, Const)):
            return ANY
        return Shape(tuple(sizes), False)

    def listed_shape(self, last: str, first: Value | None, args, kwargs) -> Shape:
        """What torch.tensor makes of lists of numbers, and the functions that count."""
        if last == "tensor":
            items = self.items_of(first) if isinstance(first, Seq) else None
            if not items or kwargs.keys() & {"*", "**"}:
                return ANY
            if all(isinstance(item, Const) for item in items):
                return Shape((len(items),), False)
            rows = [self.items_of(item) if isinstance(item, Seq) else None for item in items]
            even = all(row and len(row) == len(rows[0]) for row in rows)
            flat = even and all(isinstance(cell, Const) for row in rows for cell in row)
            return Shape((len(items), len(rows[0])), False) if flat else ANY
        count = self.whole(args[0]) if len(args) == 1 and last != "linspace" else None
        return Shape((count if count else None,), False)

    def item_shape(self, owner: Tensor, keys: Sequence[Value | None], result: Value) -> Value:
        """What x[keys] leaves of the sizes; a slice is None among the keys."""
        kinds = []
        for key in keys:
            if key is None:
                kinds.append("slice")
            elif isinstance(key, Const) and key.value is None:
                kinds.append("new")
            elif isinstance(self.whole(key), int):
                kinds.append("number")
            else:
                return result  # a mask, an index tensor, ...
        site = result.site if isinstance(result, Tensor) else None
        return self.with_shape(result, shapes.indexed(self.shape_of(owner), kinds), site)

    # -- values that are no tensors for certain ---------------------------------------------------------------------

    def noted_shape(self, value: Value | None) -> Shape:
        """The sizes of a value that is a tensor or may be one."""
        if isinstance(value, Opaque) and not isinstance(value, Tensor):
            return self.base_store.get(value, " shape") or ANY
        return self.shape_of(value)

    def note_shape(self, value: Value, shape: Shape) -> None:
        if type(value) is Opaque and shape != ANY:
            self.base_store.set(value, " shape", shape)

    def seen_shape(self, name: str, owner: Value, args, kwargs, result: Value, node) -> Value:
        """What methods that only tensors and arrays have, called on something unknown, leave of its sizes."""
        if type(owner) is not Opaque or not isinstance(result, Opaque) or result is owner or "module" in owner.tags:
            return result
        stand_in = Tensor("", "op", None, traits={"shape": self.noted_shape(owner)})
        known = self.noted_shape(owner) != ANY
        if name in ("view", "reshape", "flatten", "squeeze", "unsqueeze") or name in _SAME and known:
            shape = self.shape_of(self.method_shape(name, stand_in, args, kwargs, Tensor(), node))
            if isinstance(result, Tensor):
                return self.with_shape(result, shape, self.site(node)) if "shape" not in result.traits else result
            self.note_shape(result, shape)
        return result

    # -- sizes that are not known, but whose they are ---------------------------------------------------------------

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
        if not isinstance(node, cst.BinaryOperation) or not _only_times(node):
            return None
        factors = [part for part in value.parts if not (type(part) is Opaque and part.source == "op")]
        found = [self.dimensions(part, owner) for part in factors]
        if not found or None in found:
            return None
        return set().union(*(one for one, _ in found)), max((count for _, count in found if count), default=None)

    def emit_arranged(self, owner: Value, args: Sequence[Value], node) -> None:
        """x.view(...) is given the sizes of x itself, in another order."""
        if self.unsure or not isinstance(owner, Opaque) or owner.source == "item" or len(args) < 2:
            return
        order: list[int] = []
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
        if not all(isinstance(size, int) and size > 1 for size in (*shape.dims, *sizes)):
            return
        distinct, had = len(set(shape.dims)) == shape.rank, list(shape.dims)
        if distinct and sorted(had) == sorted(sizes) and sizes[0] == had[0] and sizes != had:
            self.emit("arranged", owner, node, order=tuple(shape.dims.index(size) for size in sizes))

    # -- sequences --------------------------------------------------------------------------------------------------

    def note_column(self, value: Value, whole: Value, index: int) -> None:
        """Notes that a value is one of the several that a layer gave."""
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
        if not isinstance(module, Instance) or not isinstance(module.cls, Ref) or not _steps_first(module):
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

    # -- loaders ----------------------------------------------------------------------------------------------------

    def batch_of(self, loader: Instance) -> list[Shape] | None:
        """What the loader of a TensorDataset gives: the rows of its tensors, a batch of them at a time."""
        given = loader.arg(0, "dataset")
        if not isinstance(given, Instance) or given.type != "torch.utils.data.TensorDataset" or given.kwargs:
            return None
        if {"*", "**", "collate_fn"} & loader.kwargs.keys():
            return None
        if "batch_size" in loader.kwargs and not self.whole(loader.kwargs["batch_size"]):
            return None
        whole = [self.noted_shape(value) for value in given.args]
        return [Shape((None, *shape.dims[1:]), False) if shape.rank else ANY for shape in whole]

    # -- functions of two tensors -----------------------------------------------------------------------------------

    def product_shape(self, left: Value, right: Value, result: Value, node, name: str) -> Value:
        shape, clash = shapes.multiplied(self.shape_of(left), self.shape_of(right))
        self.clash(clash, left, node, operation=name)
        return self.with_shape(result, shape, self.site(node))

    def method_shape(self, name: str, owner: Tensor, args, kwargs, result: Value, node) -> Value:
        """The result of a method of a tensor (or of the function of the same name)."""
        if name in _RESHAPES_IN_PLACE:
            owner.traits.pop("shape", None)
        if result is owner or not isinstance(result, Tensor) or "shape" in result.traits:
            return result
        shape, site = self.shape_of(owner), self.site(node)
        if name in _SAME:
            return self.with_shape(result, shape, owner.sites.get("shape"))
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
            sizes = self.numbers(dim) if dim is not None and keep is not None and len(args) < 2 else None
            if sizes:
                return self.with_shape(result, shapes.reduced(shape, sizes, bool(keep)), site)
        if name == "matmul" and args:
            return self.product_shape(owner, args[0], result, node, name)
        return result

    def counts_first(self, value: Value, node) -> bool:
        """Whether the first size given to x.view is x.size(0) or x.shape[0], as it is written."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or not node.args:
            return False
        text = self.parsed.text
        owner = text(node.func.value)
        return text(node.args[0].value).replace(" ", "") in (f"{owner}.size(0)", f"{owner}.shape[0]", f"len({owner})")

    def emit_outer(self, left: Value, right: Value, node) -> None:
        """A column, (..., 1), may meet a row."""
        one, two = self.noted_shape(left), self.noted_shape(right)
        if {one.rank, two.rank} & {1} and (one.at(-1) == 1) != (two.at(-1) == 1) and not self.unsure:
            self.emit("outer", None, node, sides=(left, right), shapes=(one, two))

    def arithmetic_shape(self, operator: str, left: Value, right: Value, result: Value, node) -> Value:
        """The result of left + right and its like."""
        if not isinstance(result, Tensor):
            return result
        if operator in ("Subtract", "Equal"):
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
            if sides and isinstance(other, Const):
                return self.with_shape(result, self.shape_of(sides[0]), sides[0].sites.get("shape"))
        return result
