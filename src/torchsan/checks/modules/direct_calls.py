"""504: a model's forward is called by its name, past its hooks.

A model that is trained and was never called is a suspect: its parts may be called one by one, which is nobody's
business. So for one step more, the forward of its class tells who calls it.
"""

from __future__ import annotations

import sys
from types import CodeType
from typing import Any

from torch import nn
from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.probes.modules import is_compiled
from torchsan.program.naming import name_of
from torchsan.program.where import _USER, Where, here, kind_of
from torchsan.stream.events import Event
from torchsan.stream.patches import Patches
from torchsan.stream.weak_ids import WeakIds

_BACKWARDS = 3  # that are looked at


class DirectCall(Check):
    """A module's forward is called by its name, past its hooks."""

    numbers = (504,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.called = WeakIds()
        self.backwards = 0
        self.suspect: weakref.ref | None = None
        self.patches: Patches | None = None
        self.seen: tuple[Where | None, str | None] | None = None

    def before_forward(self, event: Event) -> None:
        if self.backwards < _BACKWARDS:
            self.called.add(event.subject)

    def on_backward(self, event: Event) -> None:
        if self.patches is not None:
            self._stop_listening()
            model = self.suspect() if self.suspect is not None else None
            if self.seen is not None and model is not None:
                place, name = self.seen
                name = name or type(model).__name__
                self.found(504, place, call=f"{name}.forward(...)", model=name)
        if self.backwards >= _BACKWARDS:
            return
        self.backwards += 1
        unseen = {
            id(part)
            for root in self.watch.modules() for module in root.modules() if _runs_elsewhere(module)
            for part in module.modules()
        }
        trained = set().union(*[account.ids for account in event.reached])
        for model in self.watch.modules():
            if model not in self.called and id(model) not in unseen and self._has_forward(model) and self._is_trained(model, trained):
                self._listen(model)
                return

    def close(self) -> None:
        self._stop_listening()

    @staticmethod
    def _has_forward(model: nn.Module) -> bool:
        forward = type(model).forward
        return forward is not nn.Module.forward and "forward" not in model.__dict__ and not is_compiled(model)

    @staticmethod
    def _is_trained(model: nn.Module, trained: set[int]) -> bool:
        return any(id(p) in trained and p.grad is not None for p in model.parameters())

    def _listen(self, model: nn.Module) -> None:
        self.suspect, self.seen = weakref.ref(model), None
        owner = next(cls for cls in type(model).__mro__ if "forward" in vars(cls))
        own = {getattr(f, "__code__", None) for cls in type(model).__mro__ for f in vars(cls).values()}
        suspect = self.suspect

        @self.safely
        def note(module: nn.Module, caller: CodeType) -> None:
            # A call by torch or a framework, and by methods of the class, is none of this.
            if kind_of(caller.co_filename) == _USER and caller not in own:
                self.seen = here(), name_of(module)

        def make(original: Any) -> Any:
            def forward(self_: nn.Module, *args: Any, **kwargs: Any) -> Any:
                if not is_compiling() and self.seen is None and self_ is suspect():
                    note(self_, sys._getframe(1).f_code)
                return original(self_, *args, **kwargs)

            return forward

        self.patches = Patches()
        self.patches.method(owner, "forward", make)

    def _stop_listening(self) -> None:
        if self.patches is not None:
            self.patches.undo()
            self.patches = None


def _runs_elsewhere(module: nn.Module) -> bool:
    """Whether what a module does is compiled or scripted: its forward is not Python's, and a new one is compiled anew."""
    return is_compiled(module) or isinstance(module, torch.jit.ScriptModule)


CHECKS = (DirectCall,)
