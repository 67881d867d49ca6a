"""Whether a layer is given the batches of a loader as they came, with the samples along their first dimension."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Opaque, Tensor, Value, number, real
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import body_of, dataset_of, loader_of, option, true
from torchlint.rules.shared.methods import method_of

# Layers that work on each place by itself, and methods that leave all in its place.
_EACH_PLACE = frozenset("Embedding Linear Dropout LayerNorm ReLU GELU Tanh Sigmoid LeakyReLU ELU SiLU Identity".split())
_IN_PLACE = frozenset(
    """to cuda cpu float double long int half type contiguous detach clone requires_grad_ relu relu_ leaky_relu elu gelu silu tanh sigmoid
    dropout""".split()
)
# Those that work on each sample by itself.
_EACH_SAMPLE = re.compile(r"(?:Conv|ConvTranspose|(?:Adaptive)?(?:Max|Avg)Pool|BatchNorm|Dropout)[123]d$|Flatten$")
_FLATTENED = re.compile(r"(?:\w+\.(?:size\(0\)|shape\[0\]|size\(\)\[0\])|-1),\s*(?:-1|[\d\s*]+)$")
_NO_SIZE = re.compile(r"-1|batch|bsz?\b|size\(|shape|len\(", re.IGNORECASE)  # of a sample
_LAID_OUT = ("view", "reshape")
_MOST = 12  # steps that are gone back


def fed_batch(view: View, event: Event) -> Instance | None:
    """The loader whose batches of sequences a layer is called with, the samples first; None where that is not certain."""
    given = event.args[0] if event.args else None
    loader = came_from(given)
    if loader is None or not _stacks(loader):
        return None
    shape = view.run.noted_shape(given)
    if len(shape.dims) == 3 or _of_three_sizes(given):
        return loader
    # Two dimensions and features, as a state is given: what comes one after the other may be the steps themselves.
    with_state = len(event.args) > 1 and not event.subject.type.endswith("Attention")
    return loader if with_state and (true(option(loader, "shuffle")) or _gives_windows(view, loader)) else None


def came_from(value: Value | None) -> Instance | None:
    """The loader that a value is a batch of, be it embedded, moved or turned into other numbers since."""
    for part in _as_it_came(value):
        loader = loader_of(part)
        if loader is not None:
            return loader
    return None


def samples_of(value: Value | None) -> Instance | None:
    """The loader that stacks the samples that lie along the first dimension of a value, whatever was made of each of them."""
    for part in _as_it_came(value, each_sample=True):
        if part.source == "item" and not part.name.isidentifier():
            return None  # one of the samples, where it is none of the parts of a batch: `x[0]`
        loader = loader_of(part)
        if loader is not None:
            return loader if _stacks(loader) else None
    return None


def _as_it_came(value: Value | None, each_sample: bool = False) -> Iterator[Opaque]:
    """A value, and what it was before, as long as the first dimension stayed the first."""
    for _ in range(_MOST):
        alts = real(value)
        if len(alts) != 1 or not isinstance(alts[0], Opaque):
            return
        yield alts[0]
        value = _before(alts[0], each_sample)


def _before(value: Opaque, each_sample: bool) -> Value | None:
    call = value.traits.get("out_of") if isinstance(value, Tensor) else None
    if call is not None and call.site == value.site:
        layer = getattr(call.subject, "type", "")
        name = layer.removeprefix("torch.nn.")
        own = layer.startswith("torch.nn.") and (name in _EACH_PLACE or each_sample and _EACH_SAMPLE.match(name))
        return call.args[0] if own and call.args else None
    return value.origin if method_of(value) in _IN_PLACE or _sizes(value) or each_sample and _flattens(value) else None


def _flattens(value: Opaque) -> bool:
    """`x.view(x.size(0), -1)`, `torch.flatten(x, 1)`"""
    name = method_of(value)
    if name in _LAID_OUT:
        return bool(_FLATTENED.match(", ".join(_given(value))))
    return name == "flatten" and _given(value)[-1:] == ["1"]


def _given(value: Opaque) -> list[str]:
    """What the call that gave a value is given, as it is written."""
    return [value.site.parsed.text(arg.value) for arg in value.site.node.args]


def _sizes(value: Opaque) -> list[str]:
    """The sizes that `x.view(-1, 28, 28)` gives a batch, as they are written; none where the batch may not stay the first."""
    sizes = _given(value) if method_of(value) in _LAID_OUT else []
    return sizes if len(sizes) > 1 and sizes[0] == "-1" and not any(map(_NO_SIZE.search, sizes[1:])) else []


def _of_three_sizes(value: Value | None) -> bool:
    return any(len(_sizes(part)) == 3 for part in _as_it_came(value))


def _stacks(loader: Instance) -> bool:
    """Whether a loader puts several samples together along a new first dimension, as torch does by itself."""
    if loader.type != "torch.utils.data.DataLoader" or loader.kwargs.keys() & {"*", "**"}:
        return False
    size = option(loader, "batch_size")
    by_itself = option(loader, "collate_fn") is None and option(loader, "batch_sampler") is None
    return by_itself and size is not None and all(not isinstance(alt, Const) or (number(alt) or 0) > 1 for alt in real(size))


def _gives_windows(view: View, loader: Instance) -> bool:
    """Whether a sample is cut out of a longer text or series: `self.words[i : i + n]`."""
    dataset = dataset_of(loader)
    definition, _ = body_of(view, dataset.cls, "__getitem__") if dataset is not None and isinstance(dataset.cls, Class) else (None, None)
    params = definition.params.params if definition is not None else ()
    if len(params) != 2:
        return False
    index = params[1].name.value
    slices = (node for node in walk(definition.body) if isinstance(node, cst.Slice) and node.lower is not None and node.upper is not None)
    return any(_reads(node.lower, index) and _reads(node.upper, index) for node in slices)


def _reads(node: cst.BaseExpression, name: str) -> bool:
    return any(isinstance(part, cst.Name) and part.value == name for part in walk(node))
