"""What NumPy's functions give: arrays and numbers of NumPy's own, and which arrays hold float64 for certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchlint.dryrun.values import NOTHING, Const, Opaque, Value, alternatives

NUMPYS = frozenset({"numpys"})  # of what arithmetic makes of an array or a number of NumPy's
ARRAY = frozenset({"ndarray"})
FLOAT64 = frozenset({"ndarray", "float64"})

# float64 unless `dtype` says otherwise, which may stand at this place.
_FLOATS = {"zeros": 1, "ones": 1, "empty": 1, "linspace": 5, "logspace": 5, "eye": 3, "identity": 1, "hanning": 1, "hamming": 1}
_RANDOM = frozenset(
    "rand randn random random_sample normal uniform standard_normal beta gamma exponential laplace".split()
)
_ARRAYS = frozenset(
    """array asarray ascontiguousarray concatenate stack vstack hstack dstack arange full zeros_like ones_like
    empty_like full_like load loadtxt genfromtxt tile repeat where expand_dims transpose reshape fromiter
    frombuffer""".split()
)


def ndarray(name: str, args: Sequence, kwargs: Mapping) -> frozenset[str]:
    """The tags of what a function gives: "ndarray" for arrays, "float64" too for those of float64."""
    module, _, last = name.rpartition(".")
    if module == "numpy" and last in _FLOATS or module == "numpy.random" and last in _RANDOM:
        typed = bool(kwargs.keys() & {"dtype", "**"}) or module == "numpy" and len(args) > _FLOATS[last]
        return ARRAY if typed else FLOAT64
    return ARRAY if module == "numpy" and last in _ARRAYS else frozenset()


# -- arrays and numbers, by the calls that give them ------------------------------------------------------------------

# Names that NumPy alone has among what is taken for one (`math`, `random`, `os`, `time` and `json` have none of them).
_GIVE = frozenset({
    "mean", "median", "average", "std", "var", "array", "asarray", "sum", "max", "min", "amax", "amin", "nanmean", "nanstd", "percentile",
    "quantile", "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "linspace", "vstack", "hstack", "concatenate", "append",
    "float16", "float32", "float64", "int32", "int64", "argmax", "argmin", "cumsum", "unique", "get_state",
})
_OF_ARRAYS = frozenset({"mean", "std", "var", "sum", "max", "min", "copy", "astype", "reshape", "argmax", "argmin"})


def is_numpys(value: Value) -> bool:
    """Whether a value is an array or a number of NumPy's."""
    if type(value) is not Opaque or value.source not in ("call", "op"):
        return False
    if "numpys" in value.tags:
        return True
    if value.source == "op":
        return False
    if "foreign" in value.tags and value.name in _GIVE or _is_array(value):
        return True
    if not isinstance(value.origin, Opaque):
        return False
    if value.name == "max" and not value.tags and is_numpys(value.origin):
        return True  # the greater, or the smaller, of a number of NumPy's and another one
    return value.name in _OF_ARRAYS and _is_array(value.origin)


def _is_array(value: Opaque) -> bool:
    """Whether a value is an array: made by a function that gives one, by arithmetic, or of a tensor by `x.numpy()`."""
    return bool(value.tags & {"ndarray", "numpys"}) or is_read_out(value)


def is_read_out(value: Opaque) -> bool:
    """Whether a value is what `x.numpy()` gives of a tensor: an array, of one number without dimensions as well."""
    return value.name == "numpy" and value.source == "call" and "numbers" in value.tags


def of_numpys(operator: str, left: Value, right: Value) -> frozenset[str]:
    """The tag of what arithmetic, or a comparison, makes of a number of NumPy's and a plain one, or of two of NumPy's: that is NumPy's,
    too. A sum that begins at a plain 0 is one as soon as something was added. Text (`"%f" % mean`) and what may be a tensor are not."""
    if operator == "Modulo":
        return NOTHING
    sides = [alternatives(left), alternatives(right)]
    found = any(any(map(is_numpys, side)) and all(is_numpys(alt) or _is_figure(alt) for alt in side) for side in sides)
    return NUMPYS if found and all(_is_figure(alt) or type(alt) is Opaque and _no_tensor(alt) for side in sides for alt in side) else NOTHING


def _is_figure(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) in (int, float)


def _no_tensor(value: Opaque) -> bool:
    return is_numpys(value) or "number" in value.tags or not value.flows and "str" not in value.tags
