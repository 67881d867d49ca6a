"""Does something as soon as torch has been imported: a script that sets variables before it imports torch must still be
first, and a script that never does pays nothing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from torchsan.report.deliver import say


def when_imported(name: str, action: Callable[[], Any]) -> None:
    """Call `action` once the top-level module `name` is there: now, or at the end of its import. An error in it is said
    and ends nothing."""
    if name in sys.modules:
        _attempt(action)
    else:
        sys.meta_path.insert(0, _Finder(name, action))


def _attempt(action: Callable[[], Any]) -> None:
    try:
        action()
    except Exception as error:
        say(f"cannot watch: {type(error).__name__}: {error}")


class _Finder:
    """Sees the import coming, steps aside, and puts a word into the loader that Python finds by itself."""

    def __init__(self, name: str, action: Callable[[], Any]):
        self.name = name
        self.action = action

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]
            return spec
        loader: Any = spec.loader
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.__dict__.pop("exec_module", None)  # the loader is as it was: others may look at it
            original(module)
            _attempt(self.action)

        loader.exec_module = exec_module
        return spec
