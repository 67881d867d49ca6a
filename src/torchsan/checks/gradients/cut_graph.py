"""No pitfall: the line that cuts the graph, for 119: `detach()` or `.data` of what parameters without a gradient have made, or a
`no_grad()` under which their layer is called.

Where parameters had no gradient in two steps, these are replaced from one forward of a model that has them until its
backward. What is cut, and leads to one of them, is remembered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

from torch.compiler import is_compiling
from torch.nn.modules.module import register_module_forward_pre_hook

from torchsan.check import Check
from torchsan.own import functools, torch
from torchsan.probes.modules import is_compiled
from torchsan.program.autograd_graph import nodes
from torchsan.program.where import _USER, Where, _place, kind_of
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event, is_transformed
from torchsan.stream.patches import Patches

_STEPS = 2  # of an optimizer without these gradients, before somebody looks
_LOOKS = 4  # forwards of a run, at most
_NODES = 1 << 12  # of a graph
_MOST = 64  # cuts of a forward


class Cut(NamedTuple):
    """A line that cuts the graph, and the ids of the parameters that it cuts off."""

    at: Where
    parameters: frozenset[int]
    under: bool = False  # the line switches the graph off for what is computed under it


class CutGraph(Check):
    """Lines that cut parameters off from the loss."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.without: set[int] = set()  # ids of parameters that have no gradient
        self.looks = 0
        self.seen = 0
        self.thread = 0
        self.cuts: list[Cut] = []
        self.off: list[tuple[int, Where | None]] = []  # contexts without a graph that the forward is in, by id: the user's line
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
        if event.depth or not event.grad or not self.without or self.looks <= self.seen or self.replaced.stands:
            return
        if any(id(p) in self.without for p in event.subject.parameters()) and not is_compiled(event.subject):
            self.seen = self.looks
            self.thread = get_ident()
            self.replaced.begin(self._replace)

    def before_backward(self, event: Event) -> None:
        self.replaced.end()

    def close(self) -> None:
        self.replaced.end()

    def _replace(self, patches: Patches) -> None:
        note = self.safely(self._note)
        patches.method(torch.Tensor, "detach", functools.partial(_wrapped, note))
        data = torch.Tensor.data
        torch.Tensor.data = property(  # type: ignore[assignment,method-assign]
            lambda tensor: (note(tensor, sys._getframe(1)), data.__get__(tensor))[1],
            lambda tensor, value: data.__set__(tensor, value),
            lambda tensor: data.__delete__(tensor),
        )
        patches.on_undo(lambda: delattr(torch.Tensor, "data"))
        self.off.clear()
        for context in (torch.no_grad, torch.set_grad_enabled):
            patches.method(context, "__enter__", functools.partial(_entered, self.safely(self._enter)))
            patches.method(context, "__exit__", functools.partial(_left, self.safely(self._leave)))
        patches.handle(register_module_forward_pre_hook(self.safely(self._called)))

    def _enter(self, context: Any, caller: Any) -> None:
        if get_ident() == self.thread and len(self.off) < _MOST and not getattr(context, "mode", False):
            self.off.append((id(context), _line(caller)))

    def _leave(self, context: Any) -> None:
        if get_ident() == self.thread and self.off and self.off[-1][0] == id(context):
            self.off.pop()

    def _called(self, module: torch.nn.Module, _: Any) -> None:
        if not self.off or len(self.cuts) >= _MOST or get_ident() != self.thread or torch.is_grad_enabled():
            return
        place = self.off[-1][1]
        if place is not None and (found := self.without & {id(p) for p in module.parameters(recurse=False)}):
            self.cuts.append(Cut(place, frozenset(found), under=True))

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


def _entered(told: Callable[[Any, Any], None], original: Callable) -> Callable:
    def __enter__(context: Any) -> Any:
        told(context, sys._getframe(1))
        return original(context)

    return __enter__


def _left(told: Callable[[Any], None], original: Callable) -> Callable:
    def __exit__(context: Any, *args: Any) -> Any:
        told(context)
        return original(context, *args)

    return __exit__


def _line(caller: Any) -> Where | None:
    """The user's line that a context is entered at; of a decorator the line where it stands."""
    if kind_of(caller.f_code.co_filename) == _USER:
        return _place(caller)
    decorated = getattr(caller.f_locals.get("func"), "__code__", None) if caller.f_code.co_name == "decorate_context" else None
    if decorated is None or kind_of(decorated.co_filename) != _USER:
        return None
    return Where(decorated, -1, decorated.co_firstlineno)


def cut_of(watch: Any, parameters: list[torch.Tensor]) -> Cut | None:
    """The line that cuts most of these parameters off, the first of several."""
    wanted = {id(p) for p in parameters}
    cuts = [cut for check in watch.checks if isinstance(check, CutGraph) for cut in check.cuts]
    under: dict[Where, frozenset[int]] = {}
    for cut in cuts:
        if cut.under:  # one layer at a time
            under[cut.at] = under.get(cut.at, frozenset()) | cut.parameters
    cuts = [cut for cut in cuts if not cut.under] + [Cut(at, cut_off, under=True) for at, cut_off in under.items()]
    cuts = [cut for cut in cuts if 2 * len(cut.parameters & wanted) > len(wanted)]
    return max(cuts, key=lambda cut: len(cut.parameters & wanted), default=None)


CHECKS = (CutGraph,)
