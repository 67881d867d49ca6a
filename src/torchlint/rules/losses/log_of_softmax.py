"""305: the logarithm of a softmax, in two steps."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Tensor, Value
from torchlint.rules.base import Report, View

CODE = 305
# What puts the same values elsewhere, or picks some of them. Not what keeps them off zero: that was meant as it stands.
_SAME_VALUES = frozenset(
    """view reshape squeeze unsqueeze flatten unflatten transpose permute t swapaxes movedim contiguous gather index_select masked_select
    take_along_dim narrow select expand expand_as repeat clone to cuda cpu float""".split()
)


def check(view: View) -> Iterator[Report]:
    """`torch.log(torch.softmax(x, dim=-1))`."""
    for event in view.of("log"):
        softmax = event.subject.sites.get("act")
        if softmax is None or not isinstance(softmax.node, (cst.Call, cst.BinaryOperation)) or not _is_given_by(event.subject, softmax):
            continue
        related = [(softmax, "the softmax")] if softmax.location().row != event.site.location().row else []
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related)


def _is_given_by(value: Value | None, softmax: Site) -> bool:
    """Whether a value is what a softmax gave, or a part of it."""
    while isinstance(value, Tensor) and value.site is not None:
        node = value.site.node
        if node is softmax.node:
            return True
        func = node.func if isinstance(node, cst.Call) else None
        name = func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")
        if name not in _SAME_VALUES:
            return False
        value = value.origin
    return False
