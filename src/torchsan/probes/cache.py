"""cache.empty: torch.cuda.empty_cache, where CUDA is in use. Subject: the function's name. `took`: the seconds."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from torchsan.own import torch
from torchsan.stream.events import begin, end
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    patches.function(torch.cuda.memory, "empty_cache", _empty_cache)


def _empty_cache(original: Callable) -> Callable:
    def empty_cache() -> None:
        # Without CUDA it does nothing.
        if not torch.cuda.is_initialized() or torch.compiler.is_compiling():
            return original()
        event = begin("cache.empty", "empty_cache")
        started = perf_counter()
        original()
        if event is not None:
            event.took = perf_counter() - started
            end(event)

    return empty_cache
