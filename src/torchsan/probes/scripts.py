"""No events: torch.jit.script reads the source of functions, and is shown what stood there before a replaced one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.jit._builtins

from torchsan.stream.patches import Patches, original_of


def install(patches: Patches) -> None:
    # How it looks a name up in the code of a function (the names of ours would be others), and what is built in.
    patches.method(torch._jit_internal, "createResolutionCallbackFromClosure", _of_the_original)
    patches.method(torch.jit._builtins, "_find_builtin", _of_the_original)


def _of_the_original(original: Callable) -> Callable:
    def look_up(function: Any) -> Any:
        return original(original_of(function))

    return look_up
