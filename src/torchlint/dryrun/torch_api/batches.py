"""What a loader gives: the samples of its dataset, whatever that is made of, put together to batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.store import Store
from torchlint.dryrun.torch_api.shapes import ANY, Shape
from torchlint.dryrun.torch_api.vision_samples import is_transform, sizes_of_image, transform_of
from torchlint.dryrun.values import (
    NOTHING,
    Class,
    Const,
    Dict,
    Func,
    Instance,
    Method,
    Opaque,
    Partial,
    Seq,
    Tensor,
    Value,
    alternatives,
    real,
)

_SUBSET = "torch.utils.data.Subset"
# What a dataset has to mention before anything can be told of its samples' sizes.
_SIZED = frozenset(
    """zeros ones empty full rand randn randint arange tensor as_tensor from_numpy Tensor FloatTensor LongTensor view reshape unsqueeze
    stack cat array asarray normal uniform linspace one_hot""".split()
)
_KEEP_DTYPE = frozenset({"from_numpy", "tensor", "as_tensor"})


def whole_dataset(dataset: Value | None) -> Value | None:
    """What a Subset, or a part of random_split, is a part of."""
    for _ in range(8):
        alts = real(dataset)
        if len(alts) != 1 or not isinstance(alts[0], Instance) or alts[0].type != _SUBSET:
            break
        dataset = alts[0].arg(0, "dataset")
    return dataset


Outline = Any  # the sizes in a sample: of a tensor, of each item, by key


class Batches:
    """The part of a run that knows what loaders give. See `interpreter.Run` for the state it works on."""

    def batch_of(self, loader: Instance, batch: Opaque) -> Value:
        """A batch of a loader: `batch`, with what is known of the sizes in it."""
        if loader.kwargs.keys() & {"*", "**"} or self.may_be_unbatched(loader):
            return batch
        sample = self.sample_of(loader.arg(0, "dataset"))
        if sample is None:
            return batch
        alts = real(loader.arg(6, "collate_fn"))
        if not alts:
            filled = self.filled(sample, batch, 1)
            self._note_doubles(filled, loader)
            return filled
        if len(alts) != 1 or not _is_seen(alts[0]):
            return batch
        with self.aside():
            given = self.sequence("list", [self.stand_in(sample)], None, True)
            collated = self.outline(self.call_value(alts[0], [given], {}, None))
        return self.filled(collated, batch, 0)

    def may_be_unbatched(self, loader: Instance) -> bool:
        """Whether a loader may give single samples: `batch_size=None`, written where it is seen."""
        size = loader.arg(1, "batch_size")
        return size is not None and any(isinstance(alt, Const) and not self.whole(alt) for alt in alternatives(size))

    def sample_of(self, dataset: Value | None, depth: int = 0) -> Outline | None:
        """One sample of a dataset; None where nothing is known of it."""
        alts = real(whole_dataset(dataset))
        given = alts[0] if len(alts) == 1 else None
        if not isinstance(given, Instance) or depth > 4:
            return None
        if given.type == "torch.utils.data.TensorDataset" and not given.kwargs:
            shapes = [self.noted_shape(value) for value in given.args]
            return tuple(Shape(shape.dims[1:], False) if shape.rank else ANY for shape in shapes)
        if given.type == "torch.utils.data.ConcatDataset":
            samples = [self.sample_of(part, depth + 1) for part in self.items_of(given.arg(0, "datasets")) or ()]
            return samples[0] if samples and all(sample == samples[0] for sample in samples) else None
        return self.item_of_class(given) or sizes_of_image(given, self._steps_of(given))

    def _steps_of(self, images: Instance) -> list[Value] | None:
        """The transforms that the images of a data set go through, one after the other."""
        alts = real(transform_of(images))
        if len(alts) != 1 or not isinstance(alts[0], Opaque) or self.store.get(images, "transform") is not None:
            return None
        if not alts[0].name.endswith(".Compose"):
            return [alts[0]]
        given = [self.items_of(part) for part in alts[0].parts if isinstance(part, Seq)]
        lists = [items for items in given if items and any(map(is_transform, items))]
        return lists[0] if len(lists) == 1 else None

    def item_of_class(self, dataset: Instance) -> Outline | None:
        """What the `__getitem__` of a class of the project gives: run once, aside, for its first sample."""
        if not isinstance(dataset.cls, Class) or dataset.kind != "dataset":
            return None
        known = self.base_store.get(dataset, " sample")
        if known is None:
            known = (self._first_item(dataset),)
            self.base_store.set(dataset, " sample", known)
        return known[0]

    def _first_item(self, dataset: Instance) -> Outline | None:
        found = dataset.cls.method("__getitem__")
        units = [unit for cls in dataset.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()]
        given = any(self.noted_shape(value) != ANY for value in (*dataset.args, *dataset.kwargs.values()))
        if found is None or not given and not any(unit.words & _SIZED for unit in units):
            return None
        with self.aside():
            func = Func("__getitem__", found[0].facts, found[1], found[0])
            item = self.inline(func, [dataset, Const(0)], {}, None, dataset)
            outline = self.outline(item)
            self.base_store.set(dataset, " doubles", self._doubles(item))
        return outline if outline != ANY else None

    def _doubles(self, item: Value) -> dict[Any, Site | None]:
        """What of an item is in float64 for certain, by its place or key: each with where a tensor was made of it, if one was."""
        alts = real(item)
        one = alts[0] if len(alts) == 1 else None
        if isinstance(one, Seq):
            parts = dict(enumerate(self.items_of(one) or ()))
        else:
            items = self.store.get(one, "{}") if isinstance(one, Dict) else None
            parts = items.known if items is not None and not items.open else {}
        given = {key: real(part) for key, part in parts.items()}
        return {key: alts[0].site for key, alts in given.items() if alts and all(map(_is_double, alts))}

    def _note_doubles(self, batch: Value, loader: Instance) -> None:
        """Notes which parts of a batch are in float64: torch's own `collate_fn` keeps what the items are."""
        dataset = real(whole_dataset(loader.arg(0, "dataset")))
        found = self.base_store.get(dataset[0], " doubles") if dataset else None
        for key, site in (found or {}).items():
            part = self.items_of(batch)[key] if isinstance(batch, Seq) else self.base_store.get(batch, f"[{key!r}]")
            if isinstance(part, Opaque):
                self.base_store.set(part, " float64", (site,))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Runs something on what the program has written so far, for the value it gives: nothing of it happens in this run."""
        names = ("entered", "graph", "store", "loops", "contexts", "guards", "call_sites", "jumps", "frame", "parsed", "stack",
                 "pending_grad", "last_call", "last_operands", "unsure")
        saved = {name: getattr(self, name) for name in names}
        self.graph, self.store, self.entered = type(self.graph)(self.world.events), Store(self.store), set(self.entered)
        self.loops, self.contexts, self.guards, self.call_sites, self.jumps = (), [], (), (), []
        self.stack, self.unsure = list(self.stack), self.unsure + 1
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    def outline(self, value: Value, depth: int = 0) -> Outline:
        """The sizes in a value."""
        alts = real(value)
        one = alts[0] if len(alts) == 1 else None
        if isinstance(one, Seq) and depth < 5:
            items = self.items_of(one)
            if items is None:  # what is in it may be of several kinds: `return x, *rest`
                return self.nested_shape(one) if one.kind == "list" else ANY
            return tuple(self.outline(item, depth + 1) for item in items)
        if isinstance(one, Dict) and depth < 5:
            items = self.store.get(one, "{}")
            known = items.known if items is not None and not items.open else {}
            return {key: self.outline(item, depth + 1) for key, item in known.items() if isinstance(key, str) and key[:1] != "*"} or ANY
        return self.nested_shape(one) if one is not None else ANY

    def stand_in(self, outline: Outline) -> Value:
        """A value of these sizes."""
        if isinstance(outline, Shape):
            return self.with_shape(Tensor("", "item"), outline, None) if outline != ANY else Opaque("", "item")
        if isinstance(outline, dict):
            return self.mapping({key: self.stand_in(item) for key, item in outline.items()}, None)
        return self.sequence("tuple", [self.stand_in(item) for item in outline], None)

    def filled(self, outline: Outline, batch: Opaque, more: int) -> Value:
        """A batch with the sizes of a sample, behind `more` dimensions."""
        if isinstance(outline, Shape):
            if outline.rank is not None:
                self.note_shape(batch, Shape((None,) * more + outline.dims, False))
            return batch
        if isinstance(outline, dict):
            for key, item in outline.items():
                self.base_store.set(batch, f"[{key!r}]", self.filled(item, self._part(batch, key), more))
            return batch
        parts = [self._part(batch) for _ in outline]
        for column, part in enumerate(parts):
            self.note_column(part, batch, column)
        return self.sequence("list", [self.filled(item, part, more) for item, part in zip(outline, parts)], None)

    def _part(self, batch: Opaque, name: str = "") -> Opaque:
        return Opaque(name, "item", None, NOTHING, NOTHING, batch, batch.tags)


def _is_double(value: Value) -> bool:
    """Whether a value is an array of NumPy's in float64, or a tensor that keeps what such an array has: `torch.from_numpy(np.zeros(4))`."""
    array = value
    if isinstance(value, Tensor):
        call = value.site.node if value.site is not None and value.source == "made" else None
        kept = isinstance(call, cst.Call) and len(call.args) == 1 and isinstance(call.func, cst.Attribute) and call.func.attr.value in _KEEP_DTYPE
        array = value.origin if kept else None
    return type(array) is Opaque and "float64" in array.tags


def _is_seen(callee: Value) -> bool:
    """Whether a function that is given stands in the project."""
    if isinstance(callee, Method):
        return callee.func is not None
    return isinstance(callee, Func) or isinstance(callee, Partial) and isinstance(callee.func, Func)
