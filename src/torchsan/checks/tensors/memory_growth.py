"""426: the memory of tensors grows from pass to pass over the training data.

What is allocated is read at the same point of each pass, its beginning, so that what a pass collects and lets go is no
growth: by CUDA's allocator where the program uses CUDA, at `level="memory"` otherwise by looking at all tensors.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import WeakKeyDictionary

from torchsan.check import Check
from torchsan.own import gc, torch
from torchsan.program.naming import name_of
from torchsan.program.referrers import keeper
from torchsan.program.where import Where
from torchsan.stream.events import Event

_SETTLES = 1  # passes at the beginning: optimizers make their states, datasets fill their caches
_GROWTHS = 4  # passes in a row, of which each adds about the same
_SHARE = 0.01  # of what was allocated, that each adds at least
_ALIKE = 2  # how much larger one growth may be than another


class MemoryGrowth(Check):
    """Tensors of every pass over the data stay alive."""

    numbers = (426,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        # By loader: what was allocated when its passes began.
        self.sizes: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()
        self.training = -1
        self.base = 0  # bytes of tensors from before the watch

    def start(self) -> None:
        if self.watch.options.level == "memory" and not torch.cuda.is_initialized():
            gc.collect()  # what lies about from before must not go in the middle of a pass
            self.base = _alive()

    def before_loader_iterate(self, event: Event) -> None:
        passes = self.watch.passes
        if passes.training != self.training:
            self.training, self.sizes = passes.training, WeakKeyDictionary()
        one = passes.current(event.subject)
        if one is None or not one.trained or one.number < _SETTLES - 1:
            return
        sizes = self.sizes.setdefault(event.subject, [])
        size = self._allocated()
        if size is None:
            return
        sizes.append(size)
        del sizes[: -_GROWTHS - 1]
        if len(sizes) > _GROWTHS and _grows(sizes):
            gc.collect()
            sizes[-1] = self._allocated() or 0  # what nobody keeps, and Python had not come to yet, is no growth
            if _grows(sizes):
                self._say(event, sizes)

    def _allocated(self) -> int | None:
        if torch.cuda.is_initialized():
            return sum(torch.cuda.memory_allocated(device) for device in range(torch.cuda.device_count()))
        return _alive() - self.base if self.watch.options.level == "memory" else None

    def _say(self, event: Event, sizes: list[int]) -> None:
        grown = (sizes[-1] - sizes[0]) // _GROWTHS
        name, held = _hoard(grown)
        place: Where | None = event.where()
        self.found(
            426,
            place,
            key="growth",
            name=f"`{name}`" if name else "something",
            grown=f"{_amount(grown)} more each time, {_amount(sizes[-1])} now",
            fact=f"{held} tensors" if held else "",
            details={"sizes": sizes},
        )


def _grows(sizes: list[int]) -> bool:
    steps = [b - a for a, b in zip(sizes, sizes[1:])]
    return min(steps) > _SHARE * max(sizes[0], 0) and max(steps) <= _ALIKE * min(steps)


def _tensors() -> list[torch.Tensor]:
    return [one for one in gc.get_objects() if type(one) in (torch.Tensor, torch.nn.Parameter)]


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes() if tensor.layout == torch.strided and not tensor.is_meta else 0


def _alive() -> int:
    """The bytes of all tensors that Python knows, each storage counted once."""
    storages = {}
    for tensor in _tensors():
        if tensor.layout == torch.strided and not tensor.is_meta:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def _hoard(least: int) -> tuple[str | None, int]:
    """What the user calls the collection with the most bytes of tensors, at least `least`, and how many it has."""
    best: Any = None
    most, count = least, 0
    for one in gc.get_objects():
        if type(one) in (list, dict, deque) and len(one) > _GROWTHS:
            held = [t for item in _items(one) for t in _inside(item)]
            if len(held) > _GROWTHS and (size := sum(map(_bytes, held))) >= most:
                best, most, count = one, size, len(held)
    return (None if best is None else name_of(best) or keeper(best)), count


def _items(collection: Any) -> list:
    return list(collection.values() if isinstance(collection, dict) else collection)


def _inside(item: Any) -> list[torch.Tensor]:
    """The tensors of an item of a collection: itself, or those of a tuple, list or dict; no parameters."""
    if type(item) is torch.Tensor:
        return [item]
    if type(item) in (tuple, list, dict):
        return [one for one in _items(item) if type(one) is torch.Tensor]
    return []


def _amount(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"


CHECKS = (MemoryGrowth,)
