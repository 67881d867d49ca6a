"""The sizes of what is made from numbers: torch.zeros(...), torch.tensor(...), the old constructors, NumPy's arrays."""

from __future__ import annotations

import re

from torchlint.dryrun.torch_api.shapes import ANY, Shape
from torchlint.dryrun.values import Const, Opaque, Seq, Tensor, Union, Value, number, real

FILLED = frozenset({"zeros", "ones", "empty", "rand", "randn"})
LEGACY = frozenset({"Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "IntTensor", "ByteTensor", "BoolTensor"})
COPIES = frozenset({"tensor", "as_tensor", "from_numpy"})
COUNTS = frozenset({"arange", "linspace", "randperm"})
_NUMPY_COPIES = frozenset({"array", "asarray", "ascontiguousarray", "float32", "float64", "int64"})
_NUMPY_SIZED = frozenset({"random", "random_sample", "standard_normal"})  # of numpy.random: one argument, the sizes
_NUMPY_AT = {"normal": 2, "uniform": 2, "randint": 2, "choice": 1}
_MOST_NESTED = 6
_COUNT = re.compile(r"(?:^|_)(?:batch_?size|bsz?|num_\w+|n_\w+)$", re.IGNORECASE)  # names of numbers
_COUNT_OR_DATA = re.compile(r"(?:^|_)(?:num|n)_\w+$", re.IGNORECASE)  # `torch.Tensor(num_features)`


class MadeShapes:
    """The part of a run that knows sizes of new tensors and arrays. See `interpreter.Run` for the state it works on."""

    def new_shape(self, last: str, args, kwargs) -> Shape:
        """What a function of torch that makes a tensor from numbers gives."""
        if kwargs.keys() & {"*", "**"}:
            return ANY
        if last in COPIES:
            return self.nested_shape(args[0] if args else kwargs.get("data"))
        if last in COUNTS:
            count = self.whole(args[0]) if len(args) == 1 and last != "linspace" else None
            return Shape((count if count else None,), False)
        if last in LEGACY:
            return self.legacy_shape(args)
        at = {"full": slice(0, 1), "randint": slice(2, 3) if len(args) > 2 else slice(1, 2)}.get(last, slice(None))
        given = list(args[at]) or ([kwargs["size"]] if "size" in kwargs else [])
        if last in ("full", "randint") and (not given or not isinstance(given[0], Seq)):
            return ANY
        return self.sizes_shape(given)

    def sizes_shape(self, given) -> Shape:
        """Sizes one by one, or as one tuple."""
        sizes = self.listed(given)
        if sizes is None or len(given) == 1 and not isinstance(given[0], (Seq, Const)) and not self.is_one_size(given[0]):
            return ANY
        return Shape(tuple(sizes), False)

    def is_one_size(self, value: Value) -> bool:
        """Whether an unknown value is a number and no tuple of sizes: `x.size(0)`, `x.shape[0]`, `len(x)`, `batch_size`."""
        if isinstance(value, Union):
            return all(number(alt) is not None or self.is_one_size(alt) for alt in real(value))
        if type(value) is not Opaque:
            return False
        whose = value.origin
        if self.base_store.get(value, " dimension") is not None:
            return True
        if type(whose) is Opaque and whose.name in ("shape", "size") and value.name.lstrip("-").isdigit():
            return True
        return "numbers" not in value.tags and ("number" in value.tags or bool(_COUNT.search(value.name)))

    def legacy_shape(self, args) -> Shape:
        """torch.Tensor(2, 3) is of that size, torch.Tensor([2, 3]) of these numbers."""
        if len(args) == 1 and not isinstance(args[0], Const):
            named = (getattr(alt, "name", "") for alt in real(args[0]))
            counts = self.is_one_size(args[0]) and not any(_COUNT_OR_DATA.search(name) for name in named)
            return Shape((None,), False) if counts else self.nested_shape(args[0])
        return Shape(tuple(self.whole(arg) for arg in args), False) if args and all(isinstance(arg, Const) for arg in args) else ANY

    def nested_shape(self, value: Value | None, depth: int = 0) -> Shape:
        """The sizes of numbers, lists of them, lists of lists: each row has to be as long as the others."""
        if isinstance(value, Const):
            return Shape((), False) if isinstance(value.value, (bool, int, float, complex)) else ANY
        if isinstance(value, Opaque):
            is_number = type(value) is Opaque and "number" in value.tags and "numbers" not in value.tags
            return Shape((), False) if is_number else self.noted_shape(value)
        items = self.store.get(value, "[]") if isinstance(value, Seq) else None
        if items is None or not items.known or depth > _MOST_NESTED:
            return ANY
        rows = {self.nested_shape(item, depth + 1) for item in items.known}
        row = rows.pop()
        return Shape((None if items.open else len(items.known), *row.dims), False) if not rows and not row.open else ANY

    def array_shape(self, name: str, args, kwargs) -> Shape:
        """What a function of NumPy gives."""
        module, _, last = name.rpartition(".")
        if kwargs.keys() & {"*", "**"}:
            return ANY
        if module == "numpy.random":
            if last in ("rand", "randn"):
                return self.sizes_shape(args) if args else Shape((), False)
            if last in _NUMPY_SIZED:
                return self.one_size(args[0] if args else kwargs.get("size"))
            if last == "permutation" and args:
                shuffled = Shape((), False) if self.is_one_size(args[0]) else self.nested_shape(args[0])
                return ANY if shuffled.rank is None else Shape((None, *shuffled.dims[1:]), False)
            if last in _NUMPY_AT:
                at = _NUMPY_AT[last]
                return self.one_size(args[at] if len(args) > at else kwargs.get("size"))
            return ANY
        if module != "numpy":
            return ANY
        if last in _NUMPY_COPIES and args:
            return self.nested_shape(args[0])
        if last == "stack" and args:
            return self.stacked_shape("stack", args[0], args, {"dim": kwargs["axis"]} if "axis" in kwargs else {})
        if last in ("zeros", "ones", "empty", "full") and args:
            return self.one_size(args[0])
        if last in ("arange", "linspace"):
            count = self.whole(args[0]) if last == "arange" and len(args) == 1 else self.whole(args[2]) if last == "linspace" and len(args) > 2 else None
            return Shape((count,), False)
        if last in ("zeros_like", "ones_like", "empty_like") and args:
            return self.noted_shape(args[0])
        return ANY

    def one_size(self, value: Value | None) -> Shape:
        """A size that is a number or a tuple."""
        return ANY if value is None or isinstance(value, Tensor) else self.sizes_shape([value])
