"""Writes src/torchlint/catalogue/api_names.json: what torch's modules hold, so that a page that names what is not there is
told.

    python tools/api_names.py

The newest release is the torch that is installed; what older ones had is taken from the other tables. Of a module that is
`null` only the name is known: what is in it is not looked at.
"""

from __future__ import annotations

import inspect
import types
import warnings
from pathlib import Path

import msgspec
from api_tables import _PRIVATE

from torchlint.catalogue.apis import arguments, table

TARGET = Path(__file__).parents[1] / "src/torchlint/catalogue/api_names.json"
_UNREAD = ("torch.ops", "torch.return_types", "torch.classes")


def names() -> dict[str, set[str] | None]:
    """By module (and class, for what is called without an object), the names in it; None where it is not read."""
    import torch

    found: dict[str, set[str] | None] = {"torch": set()}
    todo, seen = [("torch", torch)], {id(torch)}
    while todo:
        path, module = todo.pop(0)
        own = found[path] = set()
        for name in sorted(dir(module)):
            full = f"{path}.{name}"
            try:
                thing = getattr(module, name)
            except Exception:  # it is there, but not on this machine
                continue
            if isinstance(thing, types.ModuleType):
                if not thing.__name__.startswith("torch") or name.startswith("_") or thing.__name__ == "torch":
                    continue
                own.add(name)
                if thing.__name__ != full or _PRIVATE.search(full + ".") or full in _UNREAD:
                    found.setdefault(full, None)
                elif id(thing) not in seen:
                    seen.add(id(thing))
                    todo.append((full, thing))
            elif not name.startswith("_") and callable(thing) and not isinstance(thing, torch.dtype):
                if not (getattr(thing, "__module__", None) or "torch").startswith(("torch", "builtins")):
                    continue
                own.add(name)
                if inspect.isclass(thing):
                    ways = {key for key in dir(thing) if not key.startswith("_") and _without_object(thing, key)}
                    if ways:
                        found[full] = ways
    return found


def _without_object(cls: type, key: str) -> bool:
    return isinstance(inspect.getattr_static(cls, key, None), (classmethod, staticmethod))


def with_older(found: dict[str, set[str] | None]) -> dict[str, set[str] | None]:
    """What the other tables know of older releases, too: modules that are gone, and names in those that stay."""
    older = {*arguments().takes, *arguments().gone, *table().removed, *table().deprecated}
    for full in sorted(name for name in older if name.startswith("torch.") and not name.startswith("torch.Tensor.")):
        parts = full.split(".")
        for end in range(1, len(parts)):
            inside = found.setdefault(".".join(parts[:end]), set())
            if inside is None:
                break
            inside.add(parts[end])
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    rows = {module: None if own is None else " ".join(sorted(own)) for module, own in sorted(with_older(names()).items())}
    lines = (f"{msgspec.json.encode(name).decode()}:{msgspec.json.encode(own).decode()}" for name, own in rows.items())
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{TARGET}: {len(rows)} modules and classes, {sum(len(own.split()) for own in rows.values() if own)} names")


if __name__ == "__main__":
    main()
