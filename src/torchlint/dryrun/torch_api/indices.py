"""The indices that a call gives beside the values, `torch.max(x, 1)[1]`: of all that it gives they alone have no graph."""

from __future__ import annotations

from torchlint.dryrun.values import NOTHING, Opaque, Tensor, Value

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
