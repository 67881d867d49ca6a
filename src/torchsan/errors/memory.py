"""Out of memory: how much was asked for, and the largest tensors that are alive, by name and by the line that made them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from torchsan.errors.operands import Frame, traced
from torchsan.own import gc, re, torch
from torchsan.program.source import tree_of
from torchsan.program.storage import store
from torchsan.program.where import _USER, kind_of

_BYTES = re.compile(r"you tried to allocate (\d+) bytes")
_WORDS = re.compile(r"Tried to allocate ([\d.]+ \w+)")
_DEVICE = re.compile(r"GPU (\d+)")
_MOST = 4  # tensors to name
_SMALL = 1 << 20  # bytes: what is less fills no memory


def facts(text: str, way: list[Frame]) -> list[str]:
    """What was asked for, and what holds most, largest first."""
    found = []
    asked, said = _BYTES.search(text), _WORDS.search(text)
    if asked is not None:
        found.append(f"{size(int(asked[1]))} were asked for")
    elif said is not None:
        found.append(f"{said[1]} were asked for")
    device = "cuda" if _DEVICE.search(text) or "CUDA" in text else "cpu"
    return found + _largest(way, device)


def size(count: float) -> str:
    """ "1.5 GiB"."""
    unit = 0
    while count >= 1024 and unit < 5:
        count, unit = count / 1024, unit + 1
    return f"{count:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]}"


def _largest(way: list[Frame], device: str) -> list[str]:
    names = dict(_named(way))
    alive: dict[int, torch.Tensor] = {}
    for one in gc.get_objects():
        if issubclass(type(one), torch.Tensor) and one.device.type == device and one.layout is torch.strided:
            alive.setdefault(store(one), one)
    rows = sorted(((one.untyped_storage().nbytes(), at, one) for at, one in alive.items()), key=lambda row: -row[0])
    return [
        f"{size(count)}: {names.get(at) or _unnamed(value)}, {str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
        for count, at, value in rows[:_MOST] if count >= _SMALL
    ]


def _unnamed(value: torch.Tensor) -> str:
    place = traced(value)
    if place is not None:
        return f"made at line {place.line}"
    return f"from `{value.grad_fn.name()}`" if value.grad_fn is not None else "a tensor"


def _named(way: list[Frame]) -> Iterator[tuple[int, str]]:
    """Names of tensors by their storage, from the outermost frame inwards, so that the nearest name counts."""
    for one in way:
        if one.kind != _USER:
            continue
        for names in (one.frame.f_globals, one.frame.f_locals):
            for name, value in list(names.items()):
                row = _row(one, name)
                line = f" (line {row})" if row else ""
                yield from ((at, label + line) for at, label in _of(name, value))


def _of(name: str, value: Any) -> Iterator[tuple[int, str]]:
    if isinstance(value, torch.Tensor):
        yield store(value), f"`{name}`"
    elif isinstance(value, nn.Module):
        for path, part in (*value.named_parameters(), *value.named_buffers()):
            yield store(part), f"`{name}.{path}`"
            if part.grad is not None:
                yield store(part.grad), f"the gradient of `{name}.{path}`"
    elif type(value) in (list, tuple, dict):
        items = list(value.values()) if isinstance(value, dict) else list(value)
        held = [item for item in items[:1000] if isinstance(item, torch.Tensor)]
        for item in held:
            yield store(item), f"one of {len(held)} in `{name}`"
    elif isinstance(value, torch.optim.Optimizer):
        for state in list(value.state.values()):
            for key, item in state.items() if isinstance(state, dict) else ():
                if isinstance(item, torch.Tensor):
                    yield store(item), f"`{key}` in the state of `{name}`"


def _row(one: Frame, name: str) -> int | None:
    """The last line above that binds a name."""
    tree = tree_of(one.frame.f_code.co_filename) if kind_of(one.frame.f_code.co_filename) == _USER else None
    if tree is None:
        return None
    rows = _bound(one.frame.f_code.co_filename, tree).get(name, ())
    return max((row for row in rows if row <= one.line), default=None)


_rows: dict[str, dict[str, list[int]]] = {}


def _bound(filename: str, tree: Any) -> dict[str, list[int]]:
    import ast

    if filename not in _rows:
        found: dict[str, list[int]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.setdefault(node.id, []).append(node.lineno)
        _rows[filename] = found
    return _rows[filename]
