"""Our own references to what we call: what the program, or a test of it, mocks meanwhile is not called by us, and cannot
break us. `from torchsan.own import math, torch` gives a module of functions as they were when torchsan came to it. What
puts something in the place of a function asks for the module's `real` one.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import functools as functools
    import gc as gc
    import inspect as inspect
    import io as io
    import linecache as linecache
    import math as math
    import os as os
    import random as random
    import re as re
    import tempfile as tempfile
    import threading as threading
    import time as time
    import weakref as weakref

    import torch as torch

NAMES = {name: name for name in ("functools", "gc", "inspect", "io", "linecache", "math", "os", "random", "re", "tempfile")}
NAMES |= {name: name for name in ("threading", "time", "torch", "weakref")} | {"F": "torch.nn.functional"}
_WITHIN = {"os": ("path",), "torch": ("cuda", "distributed", "compiler")}  # modules of theirs that are kept, too


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = globals()[name] = _kept(importlib.import_module(NAMES[name]))
    return module


def real(owner: Any) -> Any:
    """The module that a kept one stands for; what is none of ours itself."""
    return sys.modules.get(owner.__name__, owner) if isinstance(owner, ModuleType) else owner


def _kept(module: ModuleType) -> ModuleType:
    """A module with its functions and classes as they are now. What cannot be called, what comes later (`os.environ`, a
    submodule that is loaded when it is needed), and what is mocked already, is the real one's."""
    kept = ModuleType(module.__name__, module.__doc__)
    for name, value in list(vars(module).items()):
        if name in _WITHIN.get(module.__name__, ()):
            kept.__dict__[name] = _kept(value)
        elif type(value).__module__ == "unittest.mock":
            continue
        elif callable(value) or issubclass(type(value), ModuleType) or type(value).__module__ == module.__name__:
            kept.__dict__[name] = value
    kept.__dict__["__getattr__"] = lambda name: getattr(module, name)
    return kept
