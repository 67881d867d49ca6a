"""Which classes of the project are functions of autograd's."""

from __future__ import annotations

from torchlint.dryrun.values import Class

_FUNCTIONS = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})


def is_autograd_function(cls: object) -> bool:
    """Whether it is a class of the project that derives from `torch.autograd.Function`."""
    return isinstance(cls, Class) and not _FUNCTIONS.isdisjoint(cls.externals())
