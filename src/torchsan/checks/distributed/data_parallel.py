"""810: DataParallel on several devices. 817: a program comes to its end with its process group. Asked for only."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch
from torchsan.probes import distributed
from torchsan.program.where import Where
from torchsan.stream.events import Event


class Parallel(Check):
    """A model is spread by DataParallel, or a process group is never destroyed."""

    numbers = (810, 817)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.built: dict[int, Where | None] = {}  # by DataParallel: where it was built
        self.failed = False

    def on_module_add(self, event: Event) -> None:
        if isinstance(event.subject, nn.DataParallel):
            self.built[id(event.subject)] = event.where()

    def before_forward(self, event: Event) -> None:
        if isinstance(event.subject, nn.DataParallel) and len(event.subject.device_ids) > 1:
            place = self.built.get(id(event.subject)) or event.where()
            self.found(810, place, fact=f"{len(event.subject.device_ids)} devices")

    def on_error(self, event: Event) -> None:
        self.failed = True

    def finish(self) -> None:
        dist = torch.distributed
        if not self.watch.ends_with_program or self.failed or not dist.is_available() or not dist.is_initialized():
            return
        place = distributed.begun[0]
        if place is not None and dist.get_world_size() > 1:
            self.found(817, place)


CHECKS = (Parallel,)
