"""Sets and tables of weakly held objects, told apart by identity: they must not ask a user's class for __hash__ or __eq__."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchsan.own import weakref


class WeakIds:
    """Objects held weakly, by identity. Objects that cannot be held weakly are left out."""

    def __init__(self) -> None:
        self._refs: dict[int, weakref.ref] = {}

    def add(self, item: Any) -> None:
        key = id(item)
        if key not in self._refs:
            try:
                self._refs[key] = weakref.ref(item, lambda ref, key=key: self._drop(key, ref))
            except TypeError:
                pass

    def _drop(self, key: int, ref: weakref.ref) -> None:
        if self._refs.get(key) is ref:
            del self._refs[key]

    def __contains__(self, item: Any) -> bool:
        ref = self._refs.get(id(item))
        return ref is not None and ref() is item

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self._refs.values()):
            item = ref()
            if item is not None:
                yield item

    def __len__(self) -> int:
        return len(self._refs)

    def clear(self) -> None:
        self._refs.clear()


class WeakTable:
    """What is known of objects that are held weakly, by their ids. It is forgotten when they die."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref, Any]] = {}

    def put(self, item: Any, value: Any) -> None:
        key = id(item)
        self._known[key] = weakref.ref(item, lambda ref: self._drop(key, ref)), value

    def _drop(self, key: int, ref: weakref.ref) -> None:
        known = self._known.get(key)
        if known is not None and known[0] is ref:
            del self._known[key]

    def __contains__(self, item: Any) -> bool:
        known = self._known.get(id(item))
        return known is not None and known[0]() is item

    def get(self, item: Any) -> Any:
        """What was put for an object; None where nothing was."""
        return self._known[id(item)][1] if item in self else None

    def __len__(self) -> int:
        return len(self._known)
