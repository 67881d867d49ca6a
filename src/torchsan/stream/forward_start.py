"""How things stood when a forward began: random states, small buffers, autocast, and its inputs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.parameter import is_lazy

from torchsan.own import torch, weakref
from torchsan.program.layers import tensors
from torchsan.program.storage import store
from torchsan.program.walks import parts_of
from torchsan.program.where import Where

_SMALL = 1 << 16  # values up to which a buffer is copied at every forward: running statistics, not tables
_CPU = torch.device("cpu")
_generator = torch.default_generator
_any_autocast = torch._C._is_any_autocast_enabled
_quick_version = operator.attrgetter("_version")
_Known = tuple[weakref.ref, list[torch.Tensor], "weakref.ref | None"]
_tables: dict[int, _Known] = {}


class Remembered:
    """Taken before a forward, cheap: about 2 µs and a copy of the small buffers. Holds the inputs until `let_go`."""

    cuda: torch.Tensor | None = None
    modes: Sequence[tuple[str, torch.dtype]] = ()

    def __init__(self, module: nn.Module, args: tuple, kwargs: dict, place: Where | None, draws: bool = True):
        known = _tables.get(id(module))
        if known is None or known[0]() is not module:
            known = _look(module)
        self.module, buffers, first = known
        parameter = None if first is None else first()
        self.place = place
        self.device = _CPU if parameter is None or parameter.is_cpu else parameter.device
        self.cpu = _generator.get_state() if draws else None  # the dearest of it all
        if self.device is not _CPU and self.device.type == "cuda":
            self.cuda = _cuda_state(self.device)
        self.buffers = {id(b): b.detach().clone() for b in buffers} if buffers else {}
        if _any_autocast():
            self.modes = [(kind, torch.get_autocast_dtype(kind)) for kind in {"cpu", self.device.type} if _autocast(kind)]
        self._given: tuple[tuple, dict] | None = (args, kwargs)
        self._versions = [*map(_version, args)]

    def drew(self) -> bool:
        """Whether random numbers were drawn on the CPU since, as far as is known."""
        return self.cpu is None or not torch.equal(self.cpu, _generator.get_state())

    def let_go(self) -> None:
        """Hold no input any longer."""
        self._given = None

    def call(self) -> tuple[nn.Module, tuple, dict] | str:
        """The module and its inputs, or why they are not to be had."""
        module = self.module()
        if module is None or self._given is None:
            return "the inputs of the forward are gone"
        args, kwargs = self._given
        if [_version(value) for value in args] != self._versions:
            return "the inputs of the forward were changed in place since"
        return module, cut(args), cut(kwargs)

    def has_input(self, args: tuple) -> bool:
        """Whether the forward was called with the same tensor first."""
        mine = self._given[0] if self._given is not None else ()
        ours, theirs = next(tensors(mine), None), next(tensors(args), None)
        return ours is not None and theirs is not None and ours.data_ptr() == theirs.data_ptr()

    def had(self, address: int) -> bool:
        """Whether the forward was given a tensor with this storage."""
        return any(store(t) == address for t in tensors(self._given or ()))

    def restore_random(self) -> None:
        """Put the generators where they were. The caller puts them back."""
        if self.cpu is not None:
            torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda, self.device)

    def autocasts(self) -> Iterator[Any]:
        """Contexts for the autocast that the forward ran under and that is off now."""
        for kind, dtype in self.modes:
            if not _autocast(kind):
                yield torch.autocast(kind, dtype)


class AtRest(Remembered):
    """The same of a model that rests, where there is little to be kept: it is on the CPU, has no small buffers, draws no
    random numbers, and no autocast is on. One for each place in a step, used again in the next one."""

    cpu = None
    device = _CPU
    buffers: dict[int, torch.Tensor] = {}

    def __init__(self, module: weakref.ref):
        self.module = module


def at_rest(key: int, draws: bool) -> Callable[[nn.Module, tuple, dict, Where | None], Remembered]:
    """What takes what is to be kept of a forward of a model that rests, by the model's id."""

    def whole(module: nn.Module, args: tuple, kwargs: dict, place: Where | None) -> Remembered:
        return Remembered(module, args, kwargs, place, draws)

    known = _tables.get(key)
    if draws or known is None or known[1] or known[2] is None:
        return whole
    one, parameter = AtRest(known[0]), known[2]

    def little(module: nn.Module, args: tuple, kwargs: dict, place: Where | None) -> Remembered:
        if _any_autocast() or not parameter().is_cpu:
            return whole(module, args, kwargs, place)
        try:
            one._versions = [*map(_quick_version, args)]
        except (AttributeError, RuntimeError):  # an argument that is no tensor, or one that was made in inference mode
            return whole(module, args, kwargs, place)
        one._given = args, kwargs
        one.place = place
        return one

    return little


def cut(value: Any) -> Any:
    """A value in which tensors that hang on a graph are leaves of their own: a replay must not use that graph up."""
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_() if value.grad_fn is not None else value
    if type(value) in (tuple, list):
        return type(value)(cut(item) for item in value)
    if type(value) is dict:
        return {key: cut(item) for key, item in value.items()}
    return value


def _autocast(kind: str) -> bool:
    try:
        return torch.is_autocast_enabled(kind)
    except (RuntimeError, TypeError):
        return False


def _cuda_state(device: torch.device) -> torch.Tensor | None:
    if not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
        return None
    return torch.cuda.get_rng_state(device)


def _look(module: nn.Module) -> _Known:
    """A module, its small buffers whose earlier values matter, and its first parameter; looked for once.

    Running statistics of batch norms are left out: in training nothing reads them, in evaluation nothing writes them.
    """
    norms = {id(b) for m in parts_of(module) if isinstance(m, _BatchNorm) for b in m.buffers(recurse=False)}
    buffers = [b for b in module.buffers() if not is_lazy(b) and b.numel() <= _SMALL and id(b) not in norms]
    first = next(module.parameters(), None)
    ref = weakref.ref(module, lambda _, key=id(module), pop=_tables.pop: pop(key, None))
    known = _tables[id(module)] = (ref, buffers, None if first is None else weakref.ref(first))
    return known


def _version(value: Any) -> int:
    """Tells whether a tensor was written to; not for other arguments, nor for tensors that keep no count."""
    try:
        return value._version if isinstance(value, torch.Tensor) else 0
    except RuntimeError:  # made in inference mode
        return 0
