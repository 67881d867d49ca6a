"""606: a `worker_init_fn` that seeds every worker with the same number.

torch gives each worker a seed of its own, new for each epoch. A function that sets another one, and that looks neither at
the number of its worker nor at anything else that is not the same in all of them, takes that away again.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from torch.utils.data import DataLoader

from torchsan.check import Check
from torchsan.checks.data.passes import Pass
from torchsan.checks.data.worker_rng import STARTS, parts, reached
from torchsan.own import functools, random, real, torch
from torchsan.program.where import _USER, Where, kind_of

_SEEDS = frozenset(("seed", "manual_seed", "seed_everything", "set_seed", "manual_seed_all"))
_VARIES = frozenset(
    "initial_seed get_worker_info getpid time time_ns perf_counter urandom SystemRandom uuid4 uuid1 randint random_ rand "
    "randrange getrandbits SeedSequence environ get_rank".split()
)
_DRAWS = frozenset(
    "rand randn randint random uniform normal choice choices shuffle permutation randperm sample randrange integers gauss "
    "bernoulli multinomial rand_like randn_like standard_normal beta".split()
)
_RANDOM = ("Random", "ColorJitter", "AutoAugment", "RandAugment", "TrivialAugment", "AugMix", "GaussianNoise")
_LOOKS = 2  # passes: the first one may have been an evaluation
_DEEP, _MANY = 4, 64  # objects inside of the dataset: how deep, and how many of a list
_WORDS = (
    "`{call}` seeds every worker with the same number, in every epoch: all workers draw the same numbers",
    "leave the seeding to torch, or take what differs: `numpy.random.seed(torch.initial_seed() % 2**32)`",
)


class _Seeding(NamedTuple):
    """Where a constant seed is set, the function that does it, and the libraries whose generators get it."""

    at: Where
    name: str
    libraries: frozenset[str]


class ConstantWorkerSeed(Check):
    """A worker_init_fn seeds every worker with the same number."""

    numbers = (606,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        watch.passes.at_trained.append(self._trained)

    def _trained(self, one: Pass) -> None:
        loader = one.loader
        if one.trained != 1 or one.number >= _LOOKS or not isinstance(loader, DataLoader) or not loader.num_workers:
            return
        if loader.worker_init_fn is None or (loader.num_workers == 1 and loader.persistent_workers):
            return
        seeding = _constant(loader.worker_init_fn)
        if seeding is None or seeding.libraries.isdisjoint(_drawn(loader.dataset)):
            return
        built = self.watch.passes.history(loader).place(one.place)
        workers = loader.num_workers
        self.found(
            606, seeding.at, words=_WORDS, call=seeding.name,
            fact="the samples of each epoch are augmented alike" if workers == 1 else f"{workers} workers",
            related=((built, "the loader that calls it in each worker"),),
        )


def _constant(function: Any) -> _Seeding | None:
    """What a function seeds, where that is the same in all workers."""
    skipped = 0
    while isinstance(function, functools.partial):
        skipped += len(function.args)
        function = function.func
    if isinstance(function, MethodType):
        function, skipped = function.__func__, skipped + 1
    if not isinstance(function, FunctionType) or kind_of(function.__code__.co_filename) != _USER:
        return None
    code = function.__code__
    worker = code.co_varnames[skipped] if skipped < code.co_argcount else None
    names = _names(code)
    if not names.isdisjoint(_VARIES) or (worker is not None and _reads(code, worker)):
        return None
    libraries: set[str] = set()
    if not names.isdisjoint(_SEEDS):
        libraries |= _libraries(names, function.__globals__) or set(_seeded_by(names, function.__globals__))
    else:
        libraries |= set(_seeded_by(names, function.__globals__))
    return _Seeding(_line(code), function.__name__, frozenset(libraries)) if libraries else None


def _seeded_by(names: set[str], space: dict[str, Any]) -> Iterator[str]:
    """What the functions that it calls seed: a helper of the user's, or a library's `seed_everything`."""
    for name in names:
        helper = space.get(name)
        if isinstance(helper, FunctionType):
            inside = _names(helper.__code__)
            if kind_of(helper.__code__.co_filename) != _USER:
                if name in _SEEDS:
                    yield from ("numpy", "random", "torch")
            elif not inside.isdisjoint(_SEEDS) and inside.isdisjoint(_VARIES):
                yield from _libraries(inside, helper.__globals__)


def _libraries(names: set[str], space: dict[str, Any]) -> set[str]:
    """The libraries with generators that these names stand for."""
    known: dict[int, str] = {id(real(torch)): "torch", id(real(random)): "random"}
    if "numpy" in sys.modules:
        known[id(sys.modules["numpy"])] = known[id(sys.modules["numpy"].random)] = "numpy"
    found = set()
    for name in names:
        value = space.get(name)
        if isinstance(value, ModuleType) and id(value) in known:
            found.add(known[id(value)])
        elif isinstance(getattr(value, "__self__", None), random.Random):
            found.add("random")  # from random import randint
    return found


def _drawn(dataset: Any) -> set[str]:
    """The libraries that the samples of a dataset are drawn with, as far as its code, read, tells."""
    found = set()
    for owner in parts(dataset, _DEEP, set()):
        for start in STARTS:
            for code, space in reached(type(owner), start):
                if not _DRAWS.isdisjoint(code.co_names):
                    found |= _libraries(set(code.co_names), space)
    if _has_random_transform(dataset, _DEEP, set()):
        found.add("torch")
    return found


def _has_random_transform(thing: Any, left: int, seen: set[int]) -> bool:
    """Whether a dataset holds an augmentation of a library's: these draw from torch's generator."""
    if not left or id(thing) in seen or isinstance(thing, torch.Tensor):
        return False
    seen.add(id(thing))
    if type(thing).__name__.startswith(_RANDOM) and kind_of(sys.modules[type(thing).__module__].__file__ or "") != _USER:
        return True
    values = thing[:_MANY] if isinstance(thing, (list, tuple)) else list(getattr(thing, "__dict__", {}).values())
    return any(_has_random_transform(value, left - 1, seen) for value in values
               if isinstance(value, (list, tuple)) or hasattr(value, "__dict__"))


def _names(code: CodeType) -> set[str]:
    """All names of globals and attributes in a function."""
    names = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            names |= _names(inner)
    return names


def _reads(code: CodeType, name: str) -> bool:
    """Whether a function reads one of its variables. One instruction may read two."""
    return any(
        "LOAD" in one.opname and name in (one.argval if isinstance(one.argval, tuple) else (one.argval,))
        for one in dis.get_instructions(code)
    )


def _line(code: CodeType) -> Where:
    """The line that seeds, or the first one of the function."""
    for one in dis.get_instructions(code):
        if "LOAD" in one.opname and isinstance(one.argval, str) and one.argval in _SEEDS:
            rows = (row for start, end, row in code.co_lines() if start <= one.offset < end)
            return Where(code, one.offset, next(rows, None) or code.co_firstlineno)
    return Where(code, -1, code.co_firstlineno)


CHECKS = (ConstantWorkerSeed,)
