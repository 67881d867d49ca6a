"""`--steps N`: the program is ended after so many steps of an optimizer, as `sys.exit()` in its place would end it."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook

from torchsan.watcher import Watch


class Enough(SystemExit):
    """Raised where the last step was made: what the program does on its way out, it does."""


def end_after(steps: int, san: Watch) -> None:
    """Has this process end once the watch has seen so many steps. To be asked for after the watch has begun: it hears of a step
    first. Where the program goes on all the same, the next step ends it."""
    process = os.getpid()

    def stepped(optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if os.getpid() == process and not torch.compiler.is_compiling() and san.steps >= steps:
            raise Enough(0)

    register_optimizer_step_post_hook(stepped)
