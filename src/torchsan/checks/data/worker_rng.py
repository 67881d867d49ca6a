"""606: a random generator that the workers of a loader copy, state and all.

Workers are processes of their own, so what they draw cannot be seen. What can: the loader that trains has workers and
no `worker_init_fn`, its dataset (or a transform of it) holds a generator, the code that makes samples draws from it,
and no code of its class sets it again or asks for the worker.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from torch.utils.data import DataLoader

from torchsan.check import Check
from torchsan.checks.data.passes import Pass
from torchsan.own import linecache, random, torch
from torchsan.program import source
from torchsan.program.where import _USER, Where, kind_of

STARTS = ("__getitem__", "__getitems__", "__iter__", "__next__", "__call__", "forward")
_RESEEDED = frozenset(
    "seed seed_ reseed set_random_seed manual_seed set_state setstate bit_generator initial_seed get_worker_info worker_id spawn".split()
)
_LOOKS = 2  # passes: the first one may have been an evaluation
_DEEP, _MANY = 4, 64  # objects inside of the dataset: how deep, and how many of a list
_DRAWS = "`{name}` {how}: all workers draw the same numbers, in every epoch"
_SEED = "give the loader a `worker_init_fn` that seeds it in each worker: `%s` of the object there, with `torch.initial_seed() %% 2**32`"
_SEEDED_BY = {"imgaug": (_DRAWS, _SEED % "seed_(...)"), "albumentations": (_DRAWS, _SEED % "set_random_seed(...)")}


class WorkerRng(Check):
    """A dataset holds a random generator that every worker copies, state and all."""

    numbers = (606,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        if one.trained == 1 and one.number < _LOOKS:  # evaluation may want the same numbers each time
            self._look(one.loader, one.place)

    def _look(self, loader: DataLoader, place: Where | None) -> None:
        workers = loader.num_workers
        if not workers or loader.worker_init_fn is not None or (workers == 1 and loader.persistent_workers):
            return
        built = self.watch.passes.history(loader).place(place)
        for owner in parts(loader.dataset, _DEEP, set()):
            for name, line, library in _drawn(owner):
                self.found(
                    606,
                    line or built,
                    name=name,
                    how="is copied to every worker process with the state it has here",
                    fact="by one worker, for each epoch" if workers == 1 else f"by {workers} workers",
                    related=((built, "this loader copies the dataset, and the generator, to each of its workers"),),
                    words=_SEEDED_BY.get(library),
                )


def parts(thing: Any, left: int, seen: set[int]) -> Iterator[Any]:
    """Objects of the user's classes in a dataset: itself, what it wraps, its transforms."""
    if not left or id(thing) in seen or isinstance(thing, (torch.Tensor, type, FunctionType)):
        return
    seen.add(id(thing))
    if isinstance(thing, (list, tuple)):
        for item in thing[:_MANY]:
            if hasattr(item, "__dict__"):
                yield from parts(item, left - 1, seen)
        return
    space = getattr(thing, "__dict__", None)
    if not isinstance(space, dict):
        return
    if source.users_class(thing) is not None:
        yield thing
    for value in list(space.values()):
        if isinstance(value, (list, tuple)) or hasattr(value, "__dict__"):
            yield from parts(value, left - 1, seen)


def _drawn(owner: Any) -> Iterator[tuple[str, Where | None, str]]:
    """The generators that an object's samples are drawn from, by attribute or as a global, their lines, and whose they are."""
    code = [one for start in STARTS for one in reached(type(owner), start)]
    if any(not _RESEEDED.isdisjoint(one.co_names) for one, _ in code):
        return
    words = {name for one, _ in code for name in one.co_names}
    for name, value in list(vars(owner).items()):
        if _is_generator(value) and name in words:
            uses = source.methods_that_use(owner, name)
            if uses and not any("writes" in how for method, how in uses.items() if method != "__init__"):
                yield f"self.{name}", source.assigned(owner, name), ""
        elif name in words and _is_augmentation(value):
            yield f"self.{name}", source.assigned(owner, name), _library(value)
    for one, space in code:
        for name in one.co_names:
            if (_is_generator(space.get(name)) or _is_augmentation(space.get(name))) and name not in vars(owner):
                yield name, _line_of_global(one, name), _library(space[name])


def _is_generator(value: Any) -> bool:
    if isinstance(value, (random.Random, torch.Generator)):
        return not isinstance(value, random.SystemRandom)
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.random.Generator, numpy.random.RandomState))


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _is_augmentation(value: Any) -> bool:
    """Whether an object of imgaug or albumentations draws from a generator that it was made with, and no worker gives it another:
    true of imgaug, and of albumentations from 1.4.21 to 2.0.8; before, it drew from the global ones, which torch seeds."""
    library = _library(value)
    if library == "imgaug":
        return hasattr(value, "random_state")
    if library != "albumentations" or hasattr(value, "_check_worker_seed") or hasattr(value, "_get_effective_seed"):
        return False
    return _is_generator(getattr(value, "random_generator", None))


def reached(cls: type, start: str) -> list[tuple[CodeType, dict[str, Any]]]:
    """The user's methods that `start` of a class may run, with their globals."""
    found, todo, seen = [], [start], set()
    while todo:
        name = todo.pop()
        function = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        function = getattr(function, "fget", None) or getattr(function, "__func__", function)
        if name in seen or not isinstance(function, FunctionType) or kind_of(function.__code__.co_filename) != _USER:
            continue
        seen.add(name)
        codes = [function.__code__]
        for code in codes:
            codes.extend(inner for inner in code.co_consts if isinstance(inner, CodeType))
            todo.extend(code.co_names)
        found += [(code, function.__globals__) for code in codes]
    return found


def _line_of_global(code: CodeType, name: str) -> Where | None:
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return None
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return Where(code, -1, node.lineno)
    return None


CHECKS = (WorkerRng,)
