"""loader.create, loader.iterate, loader.batch, loader.end: DataLoaders and passes over them. Subject: the loader.

`create`: `given`, the names of the arguments that were passed and are not None. `iterate`, told before and after:
`took` (seconds that starting the pass took). `batch`: `batch`, what the loader gave, and `waited`, the seconds until
it did; `loop_time`, those since it gave the batch before in the same pass (None for the first).
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torchsan.own import inspect
from torchsan.stream.events import begin, end, happened, listening
from torchsan.stream.patches import Patches

_loaders: WeakKeyDictionary[Any, list] = WeakKeyDictionary()  # by iterator: the loader, when it gave the last batch


def install(patches: Patches) -> None:
    patches.method(DataLoader, "__init__", _init)
    patches.method(DataLoader, "__iter__", _iter)
    patches.method(_BaseDataLoaderIter, "__next__", _next)
    patches.on_undo(_loaders.clear)


def _init(original: Callable) -> Callable:
    names = [name for name in inspect.signature(original).parameters if name != "self"]

    def __init__(self: DataLoader, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        passed = {**dict(zip(names, args)), **kwargs}
        happened("loader.create", self, given=frozenset(name for name, value in passed.items() if value is not None))

    return __init__


def _iter(original: Callable) -> Callable:
    def __iter__(self: DataLoader) -> Any:
        event = begin("loader.iterate", self)
        started = perf_counter()
        iterator = original(self)
        if listening():
            _loaders[iterator] = [self, None]
        if event is not None:
            event.took = perf_counter() - started
            end(event)
        return iterator

    return __iter__


def _next(original: Callable) -> Callable:
    def __next__(self: Any) -> Any:
        started = perf_counter()
        try:
            batch = original(self)
        except StopIteration:
            known = _loaders.get(self)
            if known is not None:
                happened("loader.end", known[0])
            raise
        known = _loaders.get(self)
        if known is not None:
            loader, before = known
            known[1] = now = perf_counter()
            took = None if before is None else now - before
            happened("loader.batch", loader, batch=batch, waited=now - started, loop_time=took)
        return batch

    return __next__
