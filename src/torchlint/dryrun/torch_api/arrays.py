"""What NumPy's functions give: arrays, and which of them hold float64 for certain."""

from __future__ import annotations

from collections.abc import Mapping

ARRAY = frozenset({"ndarray"})
FLOAT64 = frozenset({"ndarray", "float64"})

# float64 unless `dtype=` says otherwise.
_FLOATS = frozenset("zeros ones empty linspace logspace eye identity hanning hamming".split())
_RANDOM = frozenset(
    "rand randn random random_sample normal uniform standard_normal beta gamma exponential laplace".split()
)
_ARRAYS = frozenset(
    """array asarray ascontiguousarray concatenate stack vstack hstack dstack arange full zeros_like ones_like
    empty_like full_like load loadtxt genfromtxt tile repeat where expand_dims transpose reshape fromiter
    frombuffer""".split()
)


def ndarray(name: str, kwargs: Mapping) -> frozenset[str]:
    """The tags of what a function gives: "ndarray" for arrays, "float64" too for those of float64."""
    module, _, last = name.rpartition(".")
    if module == "numpy" and last in _FLOATS or module == "numpy.random" and last in _RANDOM:
        return ARRAY if kwargs.keys() & {"dtype", "**"} else FLOAT64
    return ARRAY if module == "numpy" and last in _ARRAYS else frozenset()
