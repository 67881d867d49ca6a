"""clip: torch.nn.utils.clip_grad_norm_ and clip_grad_value_.

Subject: tuple of parameters. `call`: the function's name; `limit` (float): max_norm or clip_value; `spent`: an iterator
that gave nothing, if one was passed (a generator only where it was used up before).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from torch.nn.utils import clip_grad

from torchsan.own import torch
from torchsan.stream.events import begin, end
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    limits = {"clip_grad_norm_": "max_norm", "clip_grad_value_": "clip_value"}
    patches.functions(clip_grad, {name: _wrapper(name, limit) for name, limit in limits.items()})


def _wrapper(name: str, limit_name: str) -> Callable[[Callable], Callable]:
    def make(original: Callable) -> Callable:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return original(parameters, *args, **kwargs)
            spent = None
            if isinstance(parameters, torch.Tensor):
                seen, parameters = (parameters,), parameters
            else:
                given, fresh = parameters, getattr(parameters, "gi_frame", parameters) is not None
                seen = tuple(parameters)
                if not seen and hasattr(given, "__next__"):
                    spent = None if fresh and isinstance(given, types.GeneratorType) else given
                # torch looks whether it was given a generator, to warn of an empty one: give it one again.
                parameters = (p for p in seen) if isinstance(parameters, types.GeneratorType) else list(seen)
            limit = args[0] if args else kwargs.get(limit_name)
            event = begin("clip", seen, call=name, limit=limit, spent=spent)
            result = original(parameters, *args, **kwargs)
            end(event)
            return result

        return clip

    return make
