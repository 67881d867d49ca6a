"""loader.iterate, loader.batch, loader.end: passes over a DataLoader. Subject: the loader; `batch`: what it gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchsan.events import begin, end, happened, listening
from torchsan.patches import Patches

_loaders: WeakKeyDictionary[Any, DataLoader] = WeakKeyDictionary()  # by iterator


def install(patches: Patches) -> None:
    patches.method(DataLoader, "__iter__", _iter)
    patches.method(_BaseDataLoaderIter, "__next__", _next)
    patches.on_undo(_loaders.clear)


def _iter(original: Callable) -> Callable:
    def __iter__(self: DataLoader) -> Any:
        event = begin("loader.iterate", self)
        iterator = original(self)
        if listening():
            _loaders[iterator] = self
        end(event)
        return iterator

    return __iter__


def _next(original: Callable) -> Callable:
    def __next__(self: Any) -> Any:
        try:
            batch = original(self)
        except StopIteration:
            loader = _loaders.get(self)
            if loader is not None:
                happened("loader.end", loader)
            raise
        loader = _loaders.get(self)
        if loader is not None:
            happened("loader.batch", loader, batch=batch)
        return batch

    return __next__
