"""Errors of a DataLoader: which of them stem from collating, what the samples looked like, which line of a worker."""

from __future__ import annotations

from typing import Any

from torchsan.errors.operands import Frame
from torchsan.own import re, torch
from torchsan.program.where import _USER, Where, kind_of

_IN_WORKER = re.compile(r"in DataLoader worker process (\d+)")
_LINE = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_SHAPES = re.compile(r"equal size, but got (\[[\d, ]*\]) at entry (\d+) and (\[[\d, ]*\]) at entry (\d+)")
_FETCH, _COLLATE = "/utils/data/_utils/fetch.py", "/utils/data/_utils/collate.py"
_MANY = 6  # shapes to name


def while_collating(text: str, way: list[Frame]) -> bool:
    """Whether an error arose while samples were put together: in this process, or in a worker whose traceback is in
    the error's `text`."""
    told = [(name.replace("\\", "/"), function) for name, _, function in _LINE.findall(text)]
    passed = [(one.frame.f_code.co_filename.replace("\\", "/"), one.frame.f_code.co_name) for one in way]
    for files in (told, passed):
        for (name, _), (following, function) in zip(files, files[1:]):
            if name.endswith(_COLLATE) or following.endswith(_COLLATE):
                return True
            if name.endswith(_FETCH) and kind_of(following) == _USER:
                return not function.startswith("__get")  # a collate_fn of the user's, and not the dataset
    return False


def ragged(text: str, way: list[Frame]) -> list[str]:
    """What the samples of the batch that could not be stacked look like."""
    for one in way:
        if one.frame.f_code.co_filename.replace("\\", "/").endswith(_FETCH):
            samples = one.frame.f_locals.get("data")
            if isinstance(samples, list) and (found := _difference(samples, "")) is not None:
                return [found]
    shapes = _SHAPES.search(text)
    worker = _IN_WORKER.search(text)
    found = [f"sample {shapes[2]} of the batch is {shapes[1]}, sample {shapes[4]} is {shapes[3]}"] if shapes else []
    return found + ([f"in worker {worker[1]}"] if worker else [])


def _difference(samples: list, field: str) -> str | None:
    """The first part of the samples that differs in shape or length: "field 1 of the samples: [3], [5], [4]"."""
    first = samples[0]
    if isinstance(first, dict):
        for key in first:
            if all(isinstance(one, dict) and key in one for one in samples):
                found = _difference([one[key] for one in samples], f"{field}[{key!r}]")
                if found is not None:
                    return found
        return None
    sizes = [_size(one) for one in samples]
    if None not in sizes and len(set(sizes)) > 1:
        more = " ..." if len(sizes) > _MANY else ""
        what = f"`sample{field}`" if field else "the samples"
        return f"{what}: {', '.join(str(size) for size in sizes[:_MANY])}{more}"
    if isinstance(first, (tuple, list)):
        for at in range(len(first)):
            found = _difference([one[at] for one in samples], f"{field}[{at}]")
            if found is not None:
                return found
    return None


def _size(value: Any) -> str | None:
    if isinstance(value, torch.Tensor) or type(value).__module__ == "numpy":
        return str(list(getattr(value, "shape", ())))
    return f"{len(value)} items" if isinstance(value, (list, tuple)) else None


def line_of_worker(text: str) -> Where | None:
    """The innermost line of the user's on the way of an error that a worker process raised."""
    if _IN_WORKER.search(text) is None:
        return None
    lines = [(name, int(row)) for name, row, _ in _LINE.findall(text) if kind_of(name) == _USER]
    if not lines:
        return None
    # The code ran in another process; a place only asks for the name of its file.
    return Where(compile("", lines[-1][0], "exec"), -1, lines[-1][1])
