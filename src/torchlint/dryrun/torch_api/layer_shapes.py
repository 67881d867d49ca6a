"""What layers of torch make of the sizes of what goes in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchlint.dryrun.torch_api import shapes
from torchlint.dryrun.torch_api.shapes import ANY, Clash, Shape, Size
from torchlint.dryrun.torch_api.vision_heads import VisionHeads
from torchlint.dryrun.values import NONE, Const, Instance, Opaque, Ref, Tensor, Union, Value, boolean, real

_LAYER = re.compile(r"torch\.nn\.(?P<kind>Conv|ConvTranspose|BatchNorm|MaxPool|AvgPool|AdaptiveAvgPool|AdaptiveMaxPool)(?P<n>[123])d$")
_KEEPS = re.compile(
    r"torch\.nn\.(?:(?:Feature)?(?:Alpha)?Dropout[123]?d?|Identity|(?:Log)?Softmax(?:2d|in)?|(?:Leaky|P|R)?ReLU6?|GELU|[SC]?ELU|SiLU|Mish"
    r"|Tanh(?:shrink)?|Hard\w+|(?:Log)?Sigmoid|Soft\w+|Threshold|InstanceNorm[123]d|SyncBatchNorm|LocalResponseNorm)$"
)
# Inception and GoogLeNet give more than scores while they train.
CLASSIFIER = re.compile(
    r"torchvision\.models\.(?:resnet|resnext|wide_resnet|vgg|alexnet|densenet|mobilenet|efficientnet|convnext|shufflenet|mnasnet|regnet"
    r"|vit|swin|maxvit)\w*$"
)
_COLOURS = 3  # what each of them takes of an image
HEADS = ("fc", "classifier", "head", "heads")
_RECURRENT = re.compile(r"torch\.nn\.(?P<kind>LSTM|GRU|RNN)(?P<cell>Cell)?$")
_COUNTS = frozenset({"Dropout1d", "Dropout2d", "Dropout3d", "InstanceNorm1d"})


class LayerShapes(VisionHeads):
    """The part of a run that knows sizes behind layers. See `interpreter.Run` for the state it works on."""

    def layer_shape(self, module: Instance, given: Value | None, result: Value, node) -> Value:
        """The output of a layer of torch."""
        if isinstance(module.cls, Ref) and module.type.startswith("torchvision."):
            self.check_vision_head(module, node)
        if isinstance(module.cls, Ref) and CLASSIFIER.match(module.type):
            self.clash(self.of_other_images(module, given), given, node, module)
            return self.scored(module, result)
        before = self.noted_shape(given)  # whatever a layer is given is a tensor
        unlike = isinstance(given, Union) and len(real(given)) > 1 and before == ANY
        if not isinstance(module.cls, Ref) or not module.type.startswith("torch.nn.") or unlike:
            return result
        shape, clash = self.through(module, before)
        self.clash(clash, given, node, module)
        self.emit_rank(module.type.removeprefix("torch.nn."), given, node, module)
        if type(result) is Opaque:
            return self.several_shapes(module, before, result)
        keeps = shape == before
        return self.with_shape(result, shape, given.sites.get("shape") if keeps and isinstance(given, Tensor) else module.site)

    def several_shapes(self, module: Instance, given: Shape, result: Opaque) -> Opaque:
        """What a recurrent layer, or one of attention, gives: its output, and states or weights besides."""
        found = _RECURRENT.match(module.type)
        if found is None:
            width = self.whole(module.arg(0, "embed_dim")) if module.type == "torch.nn.MultiheadAttention" else None
            return self.note_each(result, (shapes.linear(given, None, width)[0], ANY)) if width else result
        behind = 1 if found["kind"] == "RNN" else 0  # its nonlinearity stands before what these have, too
        hidden, projected = self.whole(module.arg(1, "hidden_size")), module.arg(7 + behind, "proj_size")
        width = hidden if projected is None else self.whole(projected) or None
        if width is None or module.kwargs.keys() & {"*", "**"}:
            return result
        if found["cell"]:
            state = shapes.linear(given, None, width)[0]
            if found["kind"] == "LSTM":
                return self.note_each(result, (state, state))
            self.note_shape(result, state)
            return result
        directions = module.arg(6 + behind, "bidirectional")
        both = False if directions is None else boolean(directions)
        if both is None:
            return result
        if given.open and boolean(module.arg(4 + behind, "batch_first")):
            given = Shape(given.tail(3), False)  # said where there is a batch
        output = shapes.linear(given, None, 2 * width if both else width)[0]
        states = Shape((*(None for _ in given.dims[1:] or (1,)), width), given.open)
        return self.note_each(result, (output, ANY if found["kind"] == "LSTM" else states))

    def of_other_images(self, model: Instance, given: Value | None) -> Clash | None:
        """Why a classifier of torchvision, whose layers but for its head are as it was made, cannot take images of so many channels."""
        shape = self.noted_shape(given)
        if shape.rank != 4 or not isinstance(shape.dims[1], int) or shape.dims[1] == _COLOURS:
            return None
        heads = [alt for name in HEADS for alt in real(self.store.get(model, name))]
        if any(all(child is not head for head in heads) for child in self.children.get(id(model), ())):
            return None
        return Clash("channels", str(_COLOURS), str(shape.dims[1]), "other")

    def scored(self, model: Instance, result: Value) -> Value:
        """The output of a classifier of torchvision: a row for each image, and a score for each class that its head has."""
        heads = [alts[0] for name in HEADS if len(alts := real(self.store.get(model, name))) == 1]
        count: Size = None
        if len(heads) == 1:
            head: Value | None = heads[0]
            while isinstance(head, Instance) and head.type == "torch.nn.Sequential":
                items = self.items_of(head)
                head = items[-1] if items else None
            if isinstance(head, Instance) and head.type == "torch.nn.Linear":
                count = self.whole(head.arg(1, "out_features"))
            elif isinstance(head, Instance) and head.type == "torch.nn.Identity" and head is heads[0]:
                count = (self.width_before_head(model) or ("", None))[1]
        elif not heads and not self.children.get(id(model)) and "**" not in model.kwargs:
            given = model.kwargs.get("num_classes")
            count = 1000 if given is None else self.whole(given)
        if count is None:
            return result
        if isinstance(result, Tensor):
            return self.with_shape(result, Shape((None, count), False), heads[0].site if heads else model.site)
        self.note_shape(result, Shape((None, count), False))
        return result

    def emit_rank(self, layer: str, given: Value | None, node, module: Instance | None = None) -> None:
        """A layer that counts dimensions gets an input of a known number of them."""
        shape = self.shape_of(given)
        if layer in _COUNTS and shape.rank is not None and not self.unsure:
            source = given.sites.get("shape") if isinstance(given, Tensor) else None
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
        if name == "torch.nn.Upsample":
            return self.interpolated_shape(shape, get(0, "size"), get(1, "scale_factor")), None
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

    def interpolated_shape(self, shape: Shape, sizes: Value | None, factor: Value | None) -> Shape:
        """Images or signals of another size: of those that are given, or of theirs by a factor."""
        if shape.rank not in (3, 4, 5):
            return ANY
        n = shape.rank - 2
        given = [None if size == 0 else size for size in self.window(sizes, n, 0)]
        factors = self.window(factor, n, 0)
        if sizes is None or sizes is NONE:
            given = [size * by if isinstance(size, int) and by else None for size, by in zip(shape.dims[2:], factors)]
        return Shape((*shape.dims[:2], *given), False)

    def pooled(self, shape: Shape, n: int, after: Sequence[Size]) -> Shape:
        if not shape.open and len(shape.dims) <= n:
            return ANY
        return Shape((*shape.dims[: max(len(shape.dims) - n, 0)], *after), shape.open)

    def window(self, value: Value | None, n: int, default: int) -> list[Size]:
        """A kernel size, stride or padding for n dimensions."""
        if value is None:
            return [default] * n
        found = self.numbers(value)
        if found is None or len(found) not in (1, n):
            return [None] * n
        return found * n if len(found) == 1 else found

    def check_chain(self, made: Instance, items: Sequence[Value], node, shape: Shape = ANY, source=None, called: bool = False) -> None:
        """The layers of a Sequential, one after the other, whatever goes in, or for an input of that shape, which was made at `source`.
        `called`: it is run for certain."""
        for item in items:
            if not isinstance(item, Instance) or not isinstance(item.cls, Ref):
                shape, source = ANY, None
                continue
            before = Tensor("", "op", None, traits={"shape": shape}, sites={} if source is None else {"shape": source})
            after, clash = self.through(item, shape)
            if clash is not None:
                self.chained += 1
                self.clash(clash, before, node, item, whole=None if called else made)
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
