"""module.flag: `requires_grad` is set on a module, which has no such switch. Subject: the module; `value`.

torch has no hook on attributes. While a watch runs, nn.Module has a descriptor of that name, which keeps the value
where Python would: nothing else is slower for it, and reading, deleting, copying and pickling go as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.compiler import is_compiling

from torchsan.stream.events import happened
from torchsan.stream.patches import Patches

_NAME = "requires_grad"


class _Flag:
    def __get__(self, module: nn.Module | None, owner: type) -> Any:
        try:
            return module.__dict__[_NAME]
        except KeyError:
            raise AttributeError(_NAME) from None  # nn.Module.__getattr__ is asked next, and says what it always says

    def __set__(self, module: nn.Module, value: Any) -> None:
        module.__dict__[_NAME] = value
        if not is_compiling():
            happened("module.flag", module, value=value)

    def __delete__(self, module: nn.Module) -> None:
        try:
            del module.__dict__[_NAME]
        except KeyError:
            raise AttributeError(_NAME) from None


def _dir(original: Callable) -> Callable:
    def __dir__(self: nn.Module) -> list[str]:
        # torch.compile reads whatever `dir` names, and so do others.
        return [name for name in original(self) if name != _NAME or name in self.__dict__]

    return __dir__


def install(patches: Patches) -> None:
    if not hasattr(nn.Module, _NAME):
        nn.Module.requires_grad = _Flag()
        patches.on_undo(lambda: delattr(nn.Module, _NAME))
        patches.method(nn.Module, "__dir__", _dir)
