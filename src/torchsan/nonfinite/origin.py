"""Sees every operation of a replay and tells which one first turned finite values into NaN or infinity.

A dispatch mode looks at what each operation gives. Where that is not finite it keeps a record: the operation, the
user's line, the module, and where the bad ones among its inputs came from. From a bad loss or gradient the records lead
back to the origin. Infinity that the program writes on purpose (a mask of -inf) is no origin; what makes NaN out of it
is.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from torchsan.own import re, torch
from torchsan.program.shards import local
from torchsan.program.storage import store
from torchsan.program.where import _USER, Where, _place, kind_of

_ENGINE = getattr(getattr(torch.autograd.graph, "_engine_run_backward", None), "__code__", None)
_TRACE = re.compile(r'File "([^"]+)", line (\d+)')
_HUGE = 1e6  # no weight of a healthy model is as large
_STATISTICS = 32  # records whose inputs are measured: the first ones matter
# What stands in the written argument before these does not matter to what they write.
_OVERWRITES = {"copy_", "fill_", "zero_", "normal_", "uniform_", "exponential_", "bernoulli_", "random_", "set_"}


class Impossible(Exception):
    """A replay cannot go on; the text says why."""


class External:
    """A tensor that was there before the replay began."""

    def __init__(self, tensor: torch.Tensor, name: str | None, kind: str):
        self.nan = _has_nan(tensor)
        self.address = store(tensor)
        self.name = name
        self.kind = kind  # "parameter", "buffer", "input" or "value"
        self.everywhere = self.nan and bool(torch.isnan(tensor).all())


class Record:
    """An operation that gave something not finite. `sources` are where its bad inputs came from, empty for an origin;
    `given`: the infinity is a constant of the program's; `fresh`: memory that nobody wrote to; `node`: the autograd
    node that ran it, in backward; `traits`: what its inputs have that matters ("zero", "negative", "empty", "single",
    "masked")."""

    def __init__(self, number: int, operation: str):
        self.number = number
        self.operation = operation
        self.node: str | None = None
        self.where: Where | None = None
        self.module: str | None = None
        self.backward = False
        self.nan = False
        self.given = False
        self.fresh = False
        self.dtype = ""
        self.sources: list[Record | External] = []
        self.inputs: dict[str, str] = {}
        self.traits: set[str] = set()
        self.large: External | None = None


class Tracer(TorchDispatchMode):
    """The records of a replay.

    Args:
        names: what a tensor that was there before is called, by the address of its storage: (name, kind).
        own: addresses of storages that the replay may write to. It may write to what it makes itself; anything else
            raises Impossible before it is written to. None: this is no replay, and everything may be written to.
        paths: the path of a module, by its id.
    """

    def __init__(self, names: dict[int, tuple[str, str]], own: set[int] | None, paths: dict[int, str]):
        super().__init__()
        self.names, self.own, self.paths = names, own, paths
        self.bad: dict[int, Record] = {}
        self.modules: list[nn.Module] = []
        # The module that a line belongs to: the user's innermost line at an operation, and the one that called it.
        self.by_line: tuple[dict, dict] = ({}, {})
        self.count = 0
        self.stop_at: Any = None  # the frame that runs the replay: user's lines above it are part of it

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        before = self.before(func, args, kwargs)
        result = func(*args, **kwargs)
        self.after(func, args, kwargs, before, result)
        return result

    def before(self, func: Any, args: tuple, kwargs: dict) -> tuple[list, set[int], list | None]:
        """The tensors given, their storages, and, where the operation writes to one, what was bad among them."""
        self.count += 1
        if self.own is not None and func.namespace in ("c10d", "_c10d_functional"):
            raise Impossible("it talks to other processes")
        given = list(_tensors((args, kwargs)))
        bad = None
        if func._schema.is_mutable:
            written = self._written(func._schema, args, kwargs)
            replaced = _name(func) in _OVERWRITES or func._overloadname.endswith("out")
            bad = self._bad([v for v in given if not (replaced and any(v is other for other in written))])
        return given, {store(value) for value in given}, bad

    def after(self, func: Any, args: tuple, kwargs: dict, before: tuple, result: Any) -> None:
        """Look at what an operation gave."""
        given, stores, bad = before
        outs = list(_tensors(result))
        if self.own is not None:
            self.own.update(address for out in outs if (address := store(out)) not in stores)
        if self.modules and torch._C._current_graph_task_id() == -1:
            self._line()
        worst = [out for out in outs if not finite(out)]
        if worst:
            self._record(func, args, kwargs, given, bad, worst, stores)
            return
        for out in outs:
            if store(out) not in stores or (func._schema.is_mutable and _whole(out)):
                self.bad.pop(store(out), None)

    def _written(self, schema: Any, args: tuple, kwargs: dict) -> list[torch.Tensor]:
        """The arguments that an operation writes to. Raises Impossible where one was there before the replay."""
        found = []
        for at, argument in enumerate(schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[at] if at < len(args) else kwargs.get(argument.name)
            for tensor in _tensors(value):
                if self.own is not None and store(tensor) not in self.own:
                    known = self.names.get(store(tensor))
                    raise Impossible(f"it would change {known[0] if known else 'a tensor of the program'} in place")
                found.append(tensor)
        return found

    def _bad(self, given: Iterable[torch.Tensor]) -> list[Record | External]:
        found: list[Record | External] = []
        for value in given:
            if not finite(value):
                record = self.bad.get(store(value))
                source = record if record is not None else self._external(value)
                if not any(source is other for other in found):
                    found.append(source)
        return found

    def _external(self, value: torch.Tensor) -> External:
        name, kind = self.names.get(store(value), (None, "value"))
        return External(value, name, kind)

    def _record(
        self, func: Any, args: tuple, kwargs: dict, given: list, bad: list | None, worst: list, stores: set[int]
    ) -> None:
        record = Record(self.count, _name(func))
        record.nan = any(_has_nan(out) for out in worst)
        record.fresh = "empty" in record.operation
        record.dtype = str(worst[0].dtype).removeprefix("torch.")
        record.sources = self._bad(given) if bad is None else bad
        record.given = not record.sources and (not given or any(_odd(v) for v in (*args, *kwargs.values())))
        record.backward = torch._C._current_graph_task_id() != -1
        record.where = self._place(record)
        begins = not record.nan or not any(source.nan for source in record.sources)
        if begins and len(self.bad) < _STATISTICS:
            for label, value in _labelled(func._schema, args, kwargs):
                known = self.names.get(store(value))
                record.inputs.setdefault(known[0] if known else label, statistics(value))
                record.traits |= _traits(value)
                if known and known[1] == "parameter" and _largest(value) > _HUGE:
                    record.large = self._external(value)
        for out in worst:
            if bad is not None or store(out) not in stores:  # no mere view of what is bad already
                self.bad[store(out)] = record

    def _line(self) -> None:
        """Remember which module a line belongs to: in backward only the line is known."""
        for at, place in enumerate(itertools.islice(self._users(), 2)):
            self.by_line[at].setdefault((place.code.co_filename, place.line), self._path())

    def _path(self) -> str:
        module = self.modules[-1]
        return self.paths.get(id(module)) or type(module).__name__

    def _users(self) -> Iterator[Where]:
        """The user's lines between here and the replay; none where the replay itself, or autograd, called."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame is not self.stop_at and frame.f_code is not _ENGINE:
            if kind_of(frame.f_code.co_filename) == _USER:
                yield _place(frame)
            frame = frame.f_back

    def _place(self, record: Record) -> Where | None:
        place = next(self._users(), None)
        if record.backward:
            node = torch._C._current_autograd_node()
            if node is not None:
                record.node = node.name()
                made = of_node(node)
                place = place or made
                record.module = self._module_at(made)
            record.module = record.module or self._module_at(place)
        elif self.modules:
            record.module = self._path()
        return place

    def _module_at(self, place: Where | None) -> str | None:
        key = (place.code.co_filename, place.line) if place is not None else None
        return self.by_line[0].get(key) or self.by_line[1].get(key)

    def origin_of(self, values: Iterable[torch.Tensor]) -> tuple[Record, External | None] | None:
        """The origin of what is not finite in `values`: the first operation, and what was bad before it began."""
        found = []
        for value in values:
            if value is not None and not finite(value):
                record = self.bad.get(store(value))
                if record is not None:
                    found.append(_walk(record))
        return min(found, key=lambda pair: pair[0].number) if found else None

    def origin_of_latest(self) -> tuple[Record, External | None] | None:
        """The origin of the last NaN that was made; where there is none, of the last infinity."""
        records = self.bad.values()
        last = max(records, key=lambda record: (record.nan, record.number), default=None)
        return None if last is None else _walk(last)


def _walk(record: Record) -> tuple[Record, External | None]:
    while True:
        wanted = [source for source in record.sources if source.nan] if record.nan else record.sources
        if not wanted:
            # NaN out of infinity: the overflow that made it is the origin, a mask is not.
            made = [root for source in record.sources if (root := _overflow(source)) is not None]
            return (min(made, key=lambda one: one.number), None) if made else (record, None)
        outside = next((source for source in wanted if isinstance(source, External)), None)
        inside = [source for source in wanted if isinstance(source, Record)]
        if not inside:
            return record, outside
        record = min(inside, key=lambda one: one.number)


def _overflow(source: Record | External) -> Record | None:
    """The operation that computed this infinity; None where it was put there."""
    while isinstance(source, Record):
        if not source.sources:
            return None if source.given else source
        source = min(source.sources, key=lambda one: one.number if isinstance(one, Record) else 1 << 62)
    return None


def of_node(node: Any) -> Where | None:
    """The user's line that made an autograd node, as anomaly mode wrote it down."""
    for text in reversed(node.metadata.get("traceback_") or ()):
        match = _TRACE.search(text)
        if match and kind_of(match[1]) == _USER:
            return Where(compile("", match[1], "exec"), -1, int(match[2]))
    return None


def statistics(value: torch.Tensor) -> str:
    """ "float32 [8, 4]: 0 to 3.2, mean 1.1, 4 zeros, 2 NaN": what an operation was given, in a line."""
    head = f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    try:
        with torch.no_grad():
            if value.numel() == 0 or value.dtype is torch.bool or value.is_complex():
                return head
            wide = value.detach().double() if value.device.type != "mps" else value.detach().float()
            finite = torch.isfinite(wide)
            count = int(finite.sum())
            parts = []
            if count:
                kept = wide[finite]
                parts.append(f"{kept.min().item():.4g} to {kept.max().item():.4g}, mean {kept.mean().item():.4g}")
                zeros = int((kept == 0).sum())
                if zeros and value.is_floating_point():
                    parts.append(f"{zeros} zeros" if zeros > 1 else "a zero")
            if count < value.numel():
                nans = int(torch.isnan(wide).sum())
                infinite = value.numel() - count - nans
                parts += [f"{nans} NaN"] * bool(nans) + [f"{infinite} infinite"] * bool(infinite)
            return f"{head}: {', '.join(parts)}"
    except (RuntimeError, NotImplementedError):  # quantized, sparse, of a subclass
        return head


def _name(func: Any) -> str:
    return func.overloadpacket.__name__.strip("_")


def _labelled(schema: Any, args: tuple, kwargs: dict) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors given to an operation, with the names of the arguments."""
    for at, argument in enumerate(schema.arguments):
        value = args[at] if at < len(args) else kwargs.get(argument.name)
        name = "input" if argument.name == "self" else argument.name
        several = list(_tensors(value))
        for index, tensor in enumerate(several):
            yield (f"{name}[{index}]" if len(several) > 1 else name), tensor


def _traits(value: torch.Tensor) -> set[str]:
    """What an input has that makes operations go wrong."""
    if value.numel() == 0:
        return {"empty"}
    found = set()
    try:
        if bool((value == 0).any()):
            found.add("zero")
        if not value.is_complex() and bool((value < 0).any()):
            found.add("negative")
        if value.numel() == 1:
            found.add("single")
        if value.dim() and value.is_floating_point() and any(
            bool((value == -float("inf")).all(dim).any()) for dim in range(value.dim())
        ):
            found.add("masked")
    except (RuntimeError, NotImplementedError):  # quantized, sparse, of a subclass
        pass
    return found


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)


def finite(value: torch.Tensor) -> bool:
    """Whether all values of a tensor are finite; True for what holds no floating-point values."""
    value = local(value)
    if not (value.is_floating_point() or value.is_complex()) or value.numel() == 0:
        return True
    try:
        return bool(torch.isfinite(value).all())
    except (RuntimeError, NotImplementedError):
        try:
            return bool(torch.isfinite(value.float()).all())
        except (RuntimeError, NotImplementedError):
            return True


def _has_nan(value: torch.Tensor) -> bool:
    try:
        return bool(torch.isnan(value).any())
    except (RuntimeError, NotImplementedError):
        return bool(torch.isnan(value.float()).any())


def _largest(value: torch.Tensor) -> float:
    try:
        return float(value.detach().abs().max()) if value.numel() else 0.0
    except (RuntimeError, NotImplementedError):
        return 0.0


def _whole(value: torch.Tensor) -> bool:
    try:
        return value.numel() * value.element_size() == value.untyped_storage().nbytes()
    except (RuntimeError, NotImplementedError):
        return True


def _odd(value: Any) -> bool:
    """Whether an argument is a number that is not finite."""
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))
