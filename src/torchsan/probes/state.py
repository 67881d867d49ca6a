"""state.take: a module's state_dict is taken; load: a state is loaded into a module.

Subject: the module. `state.take`: `result`, the state. `load`: `args` (the state alone), `strict`, `assign`, `result`
(the keys that did not match) afterwards. Calls that these methods make on the module's parts are no events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from torchsan.own import torch
from torchsan.stream.events import begin, end, happened
from torchsan.stream.patches import Patches


def install(patches: Patches) -> None:
    patches.method(nn.Module, "state_dict", _state_dict)
    patches.method(nn.Module, "load_state_dict", _load)


def _state_dict(original: Callable) -> Callable:
    def state_dict(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        # For its parts, torch passes the dictionary that is being filled.
        if not args and kwargs.get("destination") is None and not torch.compiler.is_compiling():
            happened("state.take", self, result=result)
        return result

    return state_dict


def _load(original: Callable) -> Callable:
    def load_state_dict(self: nn.Module, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        event = begin("load", self, args=(state_dict,), strict=strict, assign=assign)
        result = original(self, state_dict, strict=strict, assign=assign)
        if event is not None:
            event.result = result
            end(event)
        return result

    return load_state_dict
