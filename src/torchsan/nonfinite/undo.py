"""What code that is run again changes of the program's, and putting it back: attributes, lists and dicts, globals, loggers."""

from __future__ import annotations

import collections
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import CellType
from typing import Any

from torchsan.own import threading, torch

_CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict, collections.Counter)
_LONG = 4096  # items of a container up to which its content is kept


class Undo:
    """Collects, before code is run again, what it will write to. `False` from a method: that could not be put back."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._contents: dict[int, Any] = {}
        self._globals: set[tuple[int, str]] = set()
        self._spaces: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, CellType] = {}
        self._loggers: dict[int, logging.Logger] = {}

    def attributes(self, owner: Any) -> bool:
        """`owner.name = value`."""
        plain = type(owner).__setattr__ in (object.__setattr__, torch.nn.Module.__setattr__)
        if isinstance(owner, type) or not plain or not isinstance(getattr(owner, "__dict__", None), dict):
            return False
        self._objects[id(owner)] = owner
        return True

    def content(self, held: Any) -> bool:
        """`held.append(value)`, `held[key] = value`."""
        if type(held) not in _CONTAINERS or len(held) > _LONG:
            return False
        self._contents[id(held)] = held
        return True

    def name(self, space: dict[str, Any], name: str) -> None:
        """`global name`."""
        self._spaces[id(space)] = space
        self._globals.add((id(space), name))

    def cell(self, cell: CellType) -> None:
        """`nonlocal name`."""
        self._cells[id(cell)] = cell

    def logger(self, logger: logging.Logger) -> None:
        """`logger.info(...)`: not said twice."""
        self._loggers[id(logger)] = logger

    def joined(self, other: Undo) -> Undo:
        """What both have collected."""
        for own, more in zip(vars(self).values(), vars(other).values()):
            own.update(more)
        return self

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What was collected is as it was when this ends."""
        objects = [(owner, dict(owner.__dict__)) for owner in self._objects.values()]
        contents = [(held, held.copy()) for held in self._contents.values()]
        names = [(self._spaces[at], name, name in self._spaces[at], self._spaces[at].get(name)) for at, name in self._globals]
        cells = [(cell, cell.cell_contents) for cell in self._cells.values()]
        here = threading.get_ident()

        def silent(record: logging.LogRecord) -> bool:
            return threading.get_ident() != here

        for logger in self._loggers.values():
            logger.addFilter(silent)
        try:
            yield
        finally:
            for logger in self._loggers.values():
                logger.removeFilter(silent)
            for cell, value in cells:
                cell.cell_contents = value
            for space, name, was_there, value in names:
                if was_there:
                    space[name] = value
                else:
                    space.pop(name, None)
            for held, before in contents:
                _restore_content(held, before)
            for owner, before in objects:
                _restore_names(owner.__dict__, before)


def _restore_names(space: dict[Any, Any], before: dict[Any, Any]) -> None:
    """Key by key: other threads may read while it is done."""
    for key in [key for key in space if key not in before]:
        del space[key]
    for key, value in before.items():
        if key not in space or space[key] is not value:
            space[key] = value


def _restore_content(held: Any, before: Any) -> None:
    if isinstance(held, dict):
        _restore_names(held, before)
    elif isinstance(held, list):
        if len(held) != len(before) or any(one is not other for one, other in zip(held, before)):
            held[:] = before
    elif len(held) != len(before) or held != before:
        held.clear()
        (held.extend if isinstance(held, collections.deque) else held.update)(before)
