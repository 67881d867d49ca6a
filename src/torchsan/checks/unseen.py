"""Says once what cannot be seen: operations inside compiled and scripted models. No pitfall, and no finding."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.probes.modules import is_compiled
from torchsan.program.walks import parts_of
from torchsan.report.deliver import say
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds


class Unseen(Check):
    """A model runs where no operation of it can be seen."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self._known = WeakIds()
        self._told = False

    def start(self) -> None:
        for model in self.watch.models:
            self._look(model)  # a scripted one cannot be hooked

    def before_forward(self, event: Event) -> None:
        if not self._told and not event.depth and event.subject not in self._known:
            self._known.add(event.subject)
            self._look(event.subject)

    def _look(self, model: torch.nn.Module) -> None:
        if self._told:
            return
        for part in parts_of(model):
            if is_compiled(part):
                name = type(getattr(part, "_orig_mod", part)).__name__
                self._say(f"{name} is compiled", 'torch.compiler.set_stance("force_eager") shows more')
                return
            if isinstance(part, torch.jit.ScriptModule):
                self._say(f"{part.original_name} is scripted", "the model as it was before shows more")
                return

    def _say(self, what: str, more: str) -> None:
        self._told = True
        say(f"{what}: what it gets, gives back and learns is watched, and its operations are not ({more})")


CHECKS = (Unseen,)
