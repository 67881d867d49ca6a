"""Copies between the CPU and another device, as the calls of a few steps show them: which come again in each step, what
is copied, and whether anybody waits for it."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef

from torchsan.own import torch
from torchsan.program.where import Where

# Tensor's methods that copy, and functions that make tensors.
METHODS = ("to", "cuda", "cpu", "type", "type_as", "copy_")
FACTORIES = (
    "arange", "as_tensor", "empty", "eye", "from_numpy", "full", "linspace", "normal", "ones", "ones_like", "rand",
    "rand_like", "randint", "randn", "randn_like", "randperm", "tensor", "zeros", "zeros_like",
)
_PLAIN = (torch.Tensor, nn.Parameter)
_STEPS = 2  # in each of which a line has to copy
_KEPT = 4096  # tensors of one forward that are remembered


class Copy(NamedTuple):
    """A copy that one line makes in each step.

    `size` in bytes; `inside` of a model's forward; `made`: where forward made what is copied; `same`: it is the same
    data in each step; `background`: `non_blocking=True` with memory that is not pinned (True), or the reverse (False).
    """

    at: Where
    source: str
    target: str
    size: int
    steps: int
    inside: bool
    made: Where | None
    same: bool
    background: bool | None


class Transfers:
    """Hears calls; gives a `Copy` when a line has made it in each of the steps."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Where | None]] = {}  # the running forward's own CPU tensors, and their lines
        self._seen: dict[Where, dict[int, tuple]] = {}  # by line: of each step, what was copied first
        self._said: set[Where] = set()

    def forward_begins(self) -> None:
        """A model is called: what was made before is not its own."""
        self._made.clear()

    def made(self, kwargs: dict, result: Any, place: Where) -> None:
        """A tensor was made in a forward. One that is drawn by a generator of the CPU's has to be made there."""
        if type(result) in _PLAIN and result.device.type == "cpu" and len(self._made) < _KEPT:
            storage = result.untyped_storage()
            drawn = kwargs.get("generator") is not None
            self._made[storage._cdata] = StorageWeakRef(storage), None if drawn else place

    def look(
        self, name: str, args: tuple, kwargs: dict, result: Any, place: Where, step: int, inside: bool
    ) -> Copy | None:
        """One of `METHODS` was called, in step number `step` of those that are looked at."""
        source, target = args[0], result
        if name == "copy_":
            source, target = args[1] if len(args) > 1 else kwargs.get("src"), args[0]
        if type(source) not in _PLAIN or type(target) not in _PLAIN or place in self._said:
            return None
        if (source.device.type == "cpu") == (target.device.type == "cpu"):
            return None
        # A number costs next to nothing, and weights go back and forth where a model is larger than its device.
        if source.numel() < 2 or isinstance(source, nn.Parameter):
            return None
        up = source.device.type == "cpu"
        storage = source.untyped_storage()
        made = self._made.get(storage._cdata) if inside and up else None
        if made is not None and made[0].expired():
            made = None
        if made is not None and made[1] is None:
            return None
        version = None if source.is_inference() else source._version
        data = (storage._cdata, source.storage_offset(), tuple(source.shape), version)
        seen = self._seen.setdefault(place, {})
        if step not in seen:
            seen[step] = (*data, StorageWeakRef(storage))
        if len(seen) < _STEPS:
            return None
        self._said.add(place)
        first = seen[min(seen)]
        same = up and version is not None and first[:-1] == data and not first[-1].expired()
        background = kwargs.get("non_blocking", next((value for value in args[1:] if isinstance(value, bool)), False))
        as_it_should_be = not up or target.device.type == "mps" or bool(background) == source.is_pinned()
        return Copy(
            place, str(source.device), str(target.device), source.numel() * source.element_size(), len(seen), inside,
            None if made is None else made[1], same, None if as_it_should_be else bool(background),
        )
