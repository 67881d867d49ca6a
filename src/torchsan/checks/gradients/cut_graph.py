"""No pitfall: the line that cuts the graph, for 119: `detach()` or `.data` of what parameters without a gradient have made, or what
keeps autograd off where their layers run.

Where parameters had no gradient in two steps, these two are replaced, and their layers listened to, from one forward of a model that
has them until its backward. What is cut, and leads to one of them, is remembered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.own import functools, torch
from torchsan.probes.modules import is_compiled
from torchsan.program.autograd_graph import nodes
from torchsan.program.where import _USER, Where, _place, kind_of
from torchsan.program.without_grad import is_off, switched_off
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event, is_transformed
from torchsan.stream.patches import Patches

_STEPS = 2  # of an optimizer without these gradients, before somebody looks
_LOOKS = 4  # forwards of a run, at most
_NODES = 1 << 12  # of a graph
_MOST = 64  # cuts of a forward


class Cut(NamedTuple):
    """A line that cuts the graph, and the ids of the parameters that it cuts off; `off` is whether it keeps autograd off."""

    at: Where
    parameters: frozenset[int]
    off: bool = False


class CutGraph(Check):
    """Lines that cut parameters off from the loss."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.without: set[int] = set()  # ids of parameters that have no gradient
        self.looks = 0
        self.seen = 0
        self.thread = 0
        self.heard: dict[torch.nn.Module, Any] = {}  # layers that are listened to, and what ends that
        self.cuts: list[Cut] = []
        self.replaced = Brief("cuts")

    def before_optimizer_step(self, event: Event) -> None:
        self.replaced.end()
        account = self.ledger.account(event.subject)
        if account.steps == _STEPS - 1 and not event.closure and account.backwards and self.looks < _LOOKS:
            left = {id(p) for p in account.params if p.grad is None and p.requires_grad}
            if 0 < len(left) < len(account.params):
                self.without |= left
                self.looks += 1

    def before_forward(self, event: Event) -> None:
        if event.depth or not self.without:
            return
        if self.replaced.stands:
            self._listen(event.subject)
        if self.looks <= self.seen:
            return
        if not event.grad:
            self._runs_without(event)
        elif any(id(p) in self.without for p in event.subject.parameters()) and not is_compiled(event.subject):
            self.seen = self.looks
            self.thread = get_ident()
            if self.replaced.begin(self._replace):
                self._listen(event.subject)

    def before_backward(self, event: Event) -> None:
        self.replaced.end()

    def close(self) -> None:
        self.replaced.end()

    def _runs_without(self, event: Event) -> None:
        """A model of its own whose parameters have no gradient at all is trained without a graph."""
        own = frozenset(id(p) for p in event.subject.parameters() if p.requires_grad)
        if event.training and own and own <= self.without:
            self._off(own, sys._getframe(1))

    def _off(self, parameters: frozenset[int], frame: Any) -> None:
        place = switched_off(frame) if len(self.cuts) < _MOST else None
        if place is not None and not any(cut.off and parameters <= cut.parameters for cut in self.cuts):
            self.cuts = [cut for cut in self.cuts if cut.at != place] + [
                Cut(place, parameters.union(*(cut.parameters for cut in self.cuts if cut.at == place)), True)
            ]

    def _listen(self, model: torch.nn.Module) -> None:
        """Hears the layers of a model that have the parameters, until the backward."""

        def heard(layer: torch.nn.Module, _: Any) -> None:
            if is_off() and get_ident() == self.thread and not is_compiling():
                found = frozenset(id(p) for p in layer.parameters(recurse=False)) & self.without
                self._off(found, sys._getframe(1))

        heard_safely = self.safely(heard)
        for layer in model.modules():
            if layer not in self.heard and any(id(p) in self.without for p in layer.parameters(recurse=False)):
                self.heard[layer] = layer.register_forward_pre_hook(heard_safely)

    def _leave(self) -> None:
        for handle in self.heard.values():
            handle.remove()
        self.heard.clear()

    def _replace(self, patches: Patches) -> None:
        patches.on_undo(self._leave)
        note = self.safely(self._note)
        patches.method(torch.Tensor, "detach", functools.partial(_wrapped, note))
        data = torch.Tensor.data
        torch.Tensor.data = property(  # type: ignore[assignment,method-assign]
            lambda tensor: (note(tensor, sys._getframe(1)), data.__get__(tensor))[1],
            lambda tensor, value: data.__set__(tensor, value),
            lambda tensor: data.__delete__(tensor),
        )
        patches.on_undo(lambda: delattr(torch.Tensor, "data"))

    def _note(self, tensor: torch.Tensor, caller: Any) -> None:
        node = tensor.grad_fn
        if node is None or len(self.cuts) >= _MOST or get_ident() != self.thread or is_compiling() or is_transformed():
            return
        if kind_of(caller.f_code.co_filename) != _USER:
            return
        reached = {id(leaf) for one in nodes([node], _NODES) if (leaf := getattr(one, "variable", None)) is not None}
        if found := self.without & reached:
            self.cuts.append(Cut(_place(caller), frozenset(found)))


def _wrapped(note: Callable[[torch.Tensor, Any], None], original: Callable) -> Callable:
    def detach(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        note(tensor, sys._getframe(1))
        return original(tensor, *args, **kwargs)

    return detach


def cut_of(watch: Any, parameters: list[torch.Tensor]) -> Cut | None:
    """The line that cuts most of these parameters off, the first of several."""
    wanted = {id(p) for p in parameters}
    cuts = [cut for check in watch.checks if isinstance(check, CutGraph) for cut in check.cuts]
    cuts = [cut for cut in cuts if 2 * len(cut.parameters & wanted) > len(wanted)]
    return max(cuts, key=lambda cut: len(cut.parameters & wanted), default=None)


CHECKS = (CutGraph,)
