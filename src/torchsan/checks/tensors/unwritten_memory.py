"""level="memory": new memory is filled with NaN, so that a read of what nobody wrote shows. What shows is told by 413.

torch fills memory only in its deterministic mode, which is switched on with it (an operation that has no deterministic
form goes on as ever). Numbers and speed may change: that is why no other level does it.
"""

from __future__ import annotations

import warnings
from typing import Any

from torchsan.check import Check
from torchsan.own import torch

_NOISE = r".* does not have a deterministic implementation"


class FilledMemory(Check):
    """Fills new memory with NaN while the watch runs; finds nothing by itself."""

    level = "memory"

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.before: tuple[bool, bool, bool] | None = None
        self.noise: Any = None

    def start(self) -> None:
        self.before = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        )
        if not self.before[0]:
            warnings.filterwarnings("ignore", message=_NOISE)
            self.noise = warnings.filters[0]
            torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = True

    def finish(self) -> None:
        if self.before is None:
            return
        enabled, warn_only, fill = self.before
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = fill
        if self.noise in warnings.filters:
            warnings.filters.remove(self.noise)
            warnings._filters_mutated()


CHECKS = (FilledMemory,)
