"""Runs a step again, instrumented, to name the operation that made the first NaN or infinity, and leaves no trace.

The run is as it was afterwards: random states, parameters, gradients, buffers, attributes of modules, modes and
autograd's settings. Modules work on stand-ins while it lasts: fresh leaves that share the parameters' memory (so no
hook of the program's fires and no gradient is added to) and copies of the buffers. The replay refuses to write to
anything else that was there before. What a `forward` of the user's does to objects that are no modules (a counter in a
global dictionary) is not undone.

Mechanism: `torch.utils._python_dispatch.TorchDispatchMode` sees every operation; anomaly mode without its own check
writes the line of every node of the graph down, so that an operation of backward has the line of its forward.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from types import MappingProxyType
from typing import Any, NamedTuple

from torch import nn
from torch.nn.modules import module as registration
from torch.nn.parallel import DistributedDataParallel

from torchsan.nonfinite import sharded
from torchsan.nonfinite.origin import External, Impossible, Record, Tracer
from torchsan.own import functools, io, random, torch
from torchsan.program.autograd_graph import nodes
from torchsan.program.layers import tensors
from torchsan.program.storage import store
from torchsan.program.where import _USER, kind_of
from torchsan.stream.forward_start import Remembered

_LONG = 4096  # items of a list or dict of a module's up to which its content is kept


class Origin(NamedTuple):
    """What a replay found: the first bad operation, what was bad before it began, and how the replay went."""

    record: Record
    external: External | None
    notes: tuple[str, ...]


class Outcome(NamedTuple):
    """`origin` is None where nothing bad came up or the replay could not be done: `why` tells, and `ran` what was run.
    `elsewhere`: which other rank made it."""

    origin: Origin | None
    why: str
    ran: str = ""
    elsewhere: str = ""


def run(
    compute: Callable[[], Any],
    modules: Iterable[nn.Module],
    forwards: Sequence[Remembered],
    inputs: Mapping[str, Any] = MappingProxyType({}),
    surrogate: bool = False,
    in_step: bool = False,
    whole: Mapping[int, torch.Tensor] = MappingProxyType({}),
    refused: bool = False,
) -> Outcome:
    """Run `compute` (it gives a loss, or a model's output) and its backward under the tracer. Never raises.

    Args:
        modules: the root modules that take part.
        forwards: how things stood when the forwards of the step began: random states, buffers, autocast.
        inputs: values whose tensors are to be called inputs in the report, by name.
        surrogate: `compute` gives an output, not a loss: backward starts from gradients of one.
        in_step: `compute` runs the step from its start, and enters autocast itself.
        whole: of a sharded model, its parameters as they were gathered, by their ids.
        refused: `compute` ends in the error of a function that was given NaN, as it did before.
    """
    try:
        return _run(compute, list(modules), forwards, inputs, surrogate, in_step, whole, refused)
    except Impossible as reason:
        return Outcome(None, str(reason))
    except Exception as error:  # out of memory, an error of the user's own code: the run must not notice
        first = str(error).strip().split("\n", 1)[0][:120]
        return Outcome(None, f"it ended in {type(error).__name__}{f': {first}' if first else ''}")


def _run(
    compute: Callable,
    modules: list,
    forwards: Sequence[Remembered],
    inputs: Mapping,
    surrogate: bool,
    in_step: bool,
    whole: Mapping[int, torch.Tensor],
    refused: bool,
) -> Outcome:
    users_anomaly = torch.is_anomaly_enabled()
    with _sandbox(modules, forwards, in_step, whole) as box:
        names = dict(box.names)
        for name, value in inputs.items():
            for tensor in tensors(value):
                names.setdefault(store(tensor), (name, "input"))
        tracer = Tracer(names, box.own, box.paths)
        tracer.stop_at = sys._getframe()
        try:
            with in_modules(tracer, forwards), tracer:
                result = compute()
        except Exception as error:
            if not refused or isinstance(error, Impossible) or (latest := tracer.origin_of_latest()) is None:
                raise
            return Outcome(Origin(*latest, ()), "")
        ends = [value for value in tensors(result) if value.is_floating_point()]
        found = tracer.origin_of(ends)
        if found is not None:
            return Outcome(Origin(*found, ()), "")
        if any(not bool(torch.isfinite(end.detach()).all()) for end in ends):
            return Outcome(None, "what came out was not finite before it began")
        ends = [end for end in ends if end.requires_grad]
        if not surrogate and (len(ends) != 1 or ends[0].numel() != 1):
            return Outcome(None, "the loss is not one number" if ends else FINITE)
        leaves = _leaves(ends)
        if not leaves:
            return Outcome(None, FINITE)
        if users_anomaly:
            return Outcome(None, "anomaly mode is on")  # it looks by itself, and an old graph could not be told
        starts = [torch.ones_like(end) for end in ends]
        box.own.update(store(start) for start in starts)
        with in_modules(tracer, ()), tracer:
            grads = _gradients(ends, starts, leaves, box)
        found = tracer.origin_of(grads)
        if found is None:
            return Outcome(None, FINITE)
        return Outcome(Origin(*found, (_SURROGATE,) if surrogate else ()), "")


FINITE = "it came out finite"
_SURROGATE = "backward was run from the model's output, with gradients of one"


@contextmanager
def in_modules(tracer: Tracer, forwards: Sequence[Remembered]) -> Iterator[None]:
    """The tracer knows which module runs; a forward that is remembered draws the random numbers that it drew."""
    left = list(forwards)

    def push(module: nn.Module, args: tuple) -> None:
        if not tracer.modules:
            mine = [one for one in left if one.module() is module]
            one = next((one for one in mine if one.has_input(args)), mine[0] if mine else None)
            if one is not None:
                left.remove(one)
                one.restore_random()
        tracer.modules.append(module)

    def pop(module: nn.Module, args: tuple, output: Any) -> None:
        if tracer.modules:
            tracer.modules.pop()

    handles = [
        registration.register_module_forward_pre_hook(push),
        registration.register_module_forward_hook(pop, always_call=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
        tracer.modules.clear()


def _gradients(ends: list, starts: list, leaves: set[torch.Tensor], box: Box) -> list[torch.Tensor]:
    if all(id(leaf) in box.leaves for leaf in leaves):
        torch.autograd.backward(ends, starts)  # what checkpoints with reentrant backward need
        return [leaf.grad for leaf in leaves if leaf.grad is not None]
    grads = torch.autograd.grad(ends, list(leaves), starts, allow_unused=True)
    return [grad for grad in grads if grad is not None]


def _leaves(ends: list[torch.Tensor]) -> set[torch.Tensor]:
    """The leaves that a graph leads to.

    Raises:
        Impossible: part of the graph is older than the replay (only new nodes have a traceback): backward would use it
            up, and the program still needs it.
    """
    found = set()
    for node in nodes((end.grad_fn for end in ends), nearest=False):
        variable = getattr(node, "variable", None)
        if isinstance(variable, torch.Tensor) and not node.next_functions:
            found.add(variable)
        elif "traceback_" not in node.metadata:
            raise Impossible("the loss hangs on a graph from before it began")
    return found


class Box:
    """What stands for what while a model runs apart: names and paths by address, memory of its own, leaves."""

    def __init__(self) -> None:
        self.names: dict[int, tuple[str, str]] = {}
        self.own: set[int] = set()
        self.paths: dict[int, str] = {}
        self.leaves: set[int] = set()  # stand-ins for parameters


@contextmanager
def apart(
    modules: list[nn.Module],
    forwards: Sequence[Remembered] = (),
    whole: Mapping[int, torch.Tensor] = MappingProxyType({}),
) -> Iterator[Box]:
    """What is run inside leaves no trace: `modules` work on stand-ins, and random states and settings are put back.

    Args:
        forwards: that have begun; buffers are as they were before the first of them.
    """
    box = Box()
    with _random_states(), _settings(), _stand_ins(modules, forwards, box, whole):
        yield box


@contextmanager
def _sandbox(
    modules: list[nn.Module], forwards: Sequence[Remembered], in_step: bool, whole: Mapping[int, torch.Tensor],
) -> Iterator[Box]:
    with ExitStack() as stack:
        box = stack.enter_context(apart(modules, forwards, whole))
        if forwards and not in_step:
            forwards[0].restore_random()
            for context in forwards[0].autocasts():
                stack.enter_context(context)
        yield box


@contextmanager
def _random_states() -> Iterator[None]:
    """All random states are put back: torch's on every device in use, Python's, NumPy's."""
    cpu, python = torch.get_rng_state(), random.getstate()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    numpy = sys.modules.get("numpy")
    arrays = numpy.random.get_state() if numpy is not None and hasattr(numpy, "random") else None
    try:
        yield
    finally:
        torch.set_rng_state(cpu)
        random.setstate(python)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if arrays is not None:
            numpy.random.set_state(arrays)


@contextmanager
def _settings() -> Iterator[None]:
    """Gradients on, nodes with their lines, no cache of autocast's filled, nothing printed or warned twice."""
    anomaly, check = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()
    cache = torch.is_autocast_cache_enabled()
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(redirect_stdout(io.StringIO()))
        stance = getattr(torch.compiler, "set_stance", None)
        if stance is not None and "torch._dynamo" in sys.modules:
            stack.enter_context(stance("force_eager"))  # compiled code has no lines
        stack.enter_context(torch.enable_grad())
        torch.set_anomaly_enabled(True, False)
        torch.set_autocast_cache_enabled(False)
        try:
            yield
        finally:
            torch.set_anomaly_enabled(anomaly, check)
            torch.set_autocast_cache_enabled(cache)


@contextmanager
def _stand_ins(
    roots: list[nn.Module], forwards: Sequence[Remembered], box: Box, whole: Mapping[int, torch.Tensor],
) -> Iterator[None]:
    parts: dict[int, nn.Module] = {}
    for root in roots:
        for path, module in root.named_modules():
            parts.setdefault(id(module), module)
            box.paths.setdefault(id(module), f"{type(root).__name__}{'.' if path else ''}{path}")
    kept = [(module, dict(module.__dict__), _contents(module)) for module in parts.values()]
    old = {key: value for forward in reversed(forwards) for key, value in forward.buffers.items()}
    swapped: dict[int, torch.Tensor] = {}
    try:
        with torch.no_grad():
            for root in roots:
                for path, parameter in root.named_parameters():
                    leaf = swapped[id(parameter)] = _fresh(parameter, whole.get(id(parameter)))
                    box.names.setdefault(store(leaf), (path, "parameter"))
                    box.leaves.add(id(leaf))
                for path, buffer in root.named_buffers():
                    before = old.get(id(buffer))
                    swapped[id(buffer)] = copy = (buffer if before is None else before).detach().clone()
                    box.names.setdefault(store(copy), (path, "buffer"))
                    box.own.add(store(copy))
        for module, space, _ in kept:
            for table in ("_parameters", "_buffers"):
                held = space.get(table) or {}
                module.__dict__[table] = type(held)((key, swapped.get(id(v), v)) for key, v in held.items())
            for key, value in space.items():
                if type(value) is list:  # recurrent layers keep their weights in one
                    value[:] = [swapped.get(id(item), item) for item in value]
                elif isinstance(value, torch.Tensor):
                    if id(value) not in swapped and _is_state(value):
                        swapped[id(value)] = copy = value.clone()
                        box.names.setdefault(store(copy), (key, "value"))
                        box.own.add(store(copy))
                    module.__dict__[key] = swapped.get(id(value), value)
            if whole:
                sharded.detach_hooks(module)
            if isinstance(module, DistributedDataParallel):
                module.__dict__["forward"] = module.module  # without a word to the other processes
        yield
    finally:
        for module, space, contents in kept:
            module.__dict__.clear()
            module.__dict__.update(space)
            for container, content in contents:
                if isinstance(container, list):
                    container[:] = content
                else:
                    container.clear()
                    container.update(content)


def _is_state(value: torch.Tensor) -> bool:
    """A tensor that a module counts in, though not as a buffer: a metric's state."""
    return type(value) is torch.Tensor and not value.requires_grad and value.numel() <= _LONG and not value.is_meta


def _fresh(parameter: torch.Tensor, whole: torch.Tensor | None = None) -> torch.Tensor:
    """A leaf of its own that shares the parameter's memory, or that of what was gathered of it."""
    leaf = parameter.detach() if whole is None else whole
    if isinstance(parameter, nn.Parameter) and not isinstance(leaf, nn.Parameter):
        made = nn.Parameter(leaf, parameter.requires_grad)
    else:
        made = leaf.requires_grad_(parameter.requires_grad)
    return made


_HOOKS = ("_hooks", "_hooks_with_kwargs", "_hooks_always_called", "_pre_hooks", "_parameters", "_buffers", "_modules")


def _contents(module: nn.Module) -> list[tuple[Any, Any]]:
    """The lists, dicts and sets that a module and the functions it runs keep, with what is in them now."""
    values = [value for key, value in module.__dict__.items() if not key.endswith(_HOOKS)]
    functions = [getattr(type(module), "forward", None)]
    for table in ("_forward_hooks", "_forward_pre_hooks"):
        functions += getattr(module, table, {}).values()
    for function in functions:
        values += _reached(function)
    return [(v, v.copy()) for v in values if type(v) in (list, dict, set) and len(v) <= _LONG]


def _reached(function: Any) -> list[Any]:
    """What a function of the user's can write to: its closure, the globals it names, what it is bound to."""
    if isinstance(function, functools.partial):
        return [*function.args, *function.keywords.values(), *_reached(function.func)]
    owner = getattr(function, "__self__", None)
    found = [] if owner is None or isinstance(owner, nn.Module) else list(getattr(owner, "__dict__", {}).values())
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None or kind_of(code.co_filename) != _USER:
        return found
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not bound yet
            continue
    return found + [function.__globals__[name] for name in code.co_names if name in function.__globals__]
