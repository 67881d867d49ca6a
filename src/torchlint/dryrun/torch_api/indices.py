"""Indices: those that a call gives beside the values, `torch.max(x, 1)[1]`, which alone of all that it gives have no graph; and what tensors are
indexed by."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.values import NOTHING, Opaque, Tensor, Value, real

_WITH_INDICES = frozenset("max min topk sort median mode kthvalue cummax cummin".split())


class Indices:
    """The part of a run that knows them. See `interpreter.Run` for the state it works on."""

    def indices(self, owner: Value, place: object, node) -> Tensor | None:
        """The second of the two results of such a call; None where it is another call, or the first."""
        if type(owner) is not Opaque or owner.source != "call" or place not in (1, -1) or isinstance(place, bool):
            return None
        if owner.name not in _WITH_INDICES or not owner.flows:
            return None
        if node is not None:
            self.emit("readout", owner, node, name="indices")
        return Tensor("", "item", None, NOTHING, NOTHING, owner, {"graph": False, "detached": owner})

    def emit_indexed(self, owner: Tensor, keys: Sequence[Value | None], node) -> None:
        """A tensor is indexed by what `/` has computed."""
        alts = [real(key) for key in keys if key is not None]
        divided = [only[0] for only in alts if len(only) == 1 and _is_quotient(only[0])]
        if divided and not self.unsure:
            self.emit("indexed", owner, node, by=divided[0])


def _is_quotient(value: Value) -> bool:
    if not isinstance(value, Opaque) or value.source != "op" or value.site is None:
        return False
    node = value.site.node
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide)
