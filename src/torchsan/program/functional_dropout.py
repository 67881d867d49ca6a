"""Dropout that a user's module calls as a function: `F.dropout(x, self.p, training=self.training)`."""

from __future__ import annotations

import ast
from typing import Any

from torch import nn

from torchsan.own import functools, inspect
from torchsan.program.source import class_tree, users_class

_NAMES = frozenset("dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split())


def drops(module: nn.Module) -> bool:
    """Whether a module calls dropout that is on in training mode, and with a share of more than 0, as far as that can be
    read."""
    return users_class(module) is not None and any(_share(module, share) > 0 for share in _shares(type(module)))


@functools.lru_cache(maxsize=1024)
def _shares(cls: type) -> list[ast.expr | None]:
    """The `p` of each call of dropout in the methods of a class that is given `self.training`; None: it is not given."""
    found: list[ast.expr | None] = []
    for base in cls.__mro__:
        codes = [function.__code__ for function in vars(base).values() if inspect.isfunction(function)]
        if not any("training" in code.co_names and not _NAMES.isdisjoint(code.co_names) for code in codes):
            continue
        known = class_tree(base)
        for call in ast.walk(known[0]) if known is not None else ():
            if isinstance(call, ast.Call) and isinstance(call.func, (ast.Attribute, ast.Name)):
                name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
                given = dict(zip(("input", "p", "training"), call.args)) | {one.arg: one.value for one in call.keywords}
                mode = given.get("training")
                if name in _NAMES and mode is not None and ast.unparse(mode) == "self.training":
                    found.append(given.get("p"))
    return found


def _share(module: nn.Module, given: ast.expr | None) -> float:
    """The share that is dropped; 0 where it cannot be told."""
    value: Any = module
    if given is None:
        return 0.5
    if isinstance(given, ast.Constant):
        value = given.value
    else:
        names = ast.unparse(given).split(".")
        if names.pop(0) != "self":
            return 0
        for name in names:
            value = inspect.getattr_static(value, name, None)
    return value if isinstance(value, (int, float)) else 0
