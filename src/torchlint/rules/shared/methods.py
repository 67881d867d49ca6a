"""The method by whose call a value came to be."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.values import Opaque


def method_of(value: Opaque) -> str:
    """The name of the method, or of the function of a module, that gave a value; "" where none did."""
    node = value.site.node if value.site is not None else None
    return node.func.attr.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else ""
