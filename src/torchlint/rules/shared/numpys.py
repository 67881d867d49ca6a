"""Arrays and numbers that NumPy makes, which the dry run knows by the calls that give them."""

from __future__ import annotations

from torchlint.dryrun.values import Opaque, Value

# Names that NumPy alone has among what the dry run takes for one (`math`, `random`, `os`, `time` and `json` have none of them).
_NUMPYS = frozenset({
    "mean", "median", "average", "std", "var", "array", "asarray", "sum", "max", "min", "amax", "amin", "nanmean", "nanstd", "percentile",
    "quantile", "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "linspace", "vstack", "hstack", "concatenate", "append",
    "float16", "float32", "float64", "int32", "int64", "argmax", "argmin", "cumsum", "unique", "get_state",
})
_OF_ARRAYS = frozenset({"mean", "std", "var", "sum", "max", "min", "copy", "astype", "reshape", "argmax", "argmin"})


def is_numpys(value: Value) -> bool:
    """Whether a value is an array or a number of NumPy's."""
    if not isinstance(value, Opaque) or value.source != "call":
        return False
    if "foreign" in value.tags and value.name in _NUMPYS or "ndarray" in value.tags or _is_taken_out(value):
        return True
    if value.name == "max" and isinstance(value.origin, Opaque) and not value.tags and is_numpys(value.origin):
        return True  # the greater, or the smaller, of a number of NumPy's and another one
    return value.name in _OF_ARRAYS and isinstance(value.origin, Opaque) and ("ndarray" in value.origin.tags or _is_taken_out(value.origin))


def _is_taken_out(value: Opaque) -> bool:
    """Whether it is what `.numpy()` gave of a tensor: an array, of one number without dimensions as well."""
    return value.name == "numpy" and "numbers" in value.tags
