"""No events: torch.jit.script reads the source of functions and hooks, and is shown none of what a watch put there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.jit._builtins
import torch.jit._recursive

from torchsan.probes.modules import without_hooks
from torchsan.stream.patches import Patches, original_of


def install(patches: Patches) -> None:
    # How it looks a name up in the code of a function (the names of ours would be others), and what is built in.
    patches.method(torch._jit_internal, "createResolutionCallbackFromClosure", _of_the_original)
    patches.method(torch.jit._builtins, "_find_builtin", _of_the_original)
    patches.method(torch.jit._recursive, "create_script_module", _without_hooks)


def _of_the_original(original: Callable) -> Callable:
    def look_up(function: Any) -> Any:
        return original(original_of(function))

    return look_up


def _without_hooks(original: Callable) -> Callable:
    def create_script_module(module: Any, *args: Any, **kwargs: Any) -> Any:
        with without_hooks(module):
            return original(module, *args, **kwargs)

    return create_script_module
