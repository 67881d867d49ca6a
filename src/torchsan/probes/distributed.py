"""collective: what all ranks of a group have to call alike; module.move; save.

`collective`: subject the function's name ("all_reduce"), or "forward" or "backward" for what DistributedDataParallel
sends by itself: buffers before its forward, gradients during a backward that comes to its output. `group`: the name of
the process group (str); `what`: elements and dtype, or which forward since the last backward, where these must be the same
on all ranks; `place`: where a
forward was called whose backward this is; `args`, `kwargs`; afterwards `result`, and `error` where it raised.
`transfer`: subject "isend" or "irecv", which only two ranks take part in; `result` afterwards.
`module.move`: subject the module that `to`, `cuda`, `half` ... was called on. `save`: subject the path that torch.save
writes to.

`loader.fetch`: subject the object that makes a batch of the data set's samples, in this process.

Collectives are listened to once there are several processes: until then nothing but `init_process_group` is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.utils.data._utils import fetch

from torchsan.own import functools, inspect, os, threading, torch, weakref
from torchsan.program.layers import tensors
from torchsan.program.where import Where, here
from torchsan.stream import events
from torchsan.stream.events import begin, end, happened, listening
from torchsan.stream.patches import Patches

_COLLECTIVES = (
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "broadcast_object_list",
    "gather", "gather_object", "monitored_barrier", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
    "scatter_object_list",
)
# Those whose first tensor must have the same size and type on all ranks.
_EQUAL = ("all_gather_into_tensor", "all_reduce", "broadcast", "reduce", "reduce_scatter_tensor")
_TRANSFERS = ("isend", "irecv")
_WAITS = ("wait", "is_completed", "synchronize", "result", "get_future", "block_current_stream", "exception")
waited: dict[int, list[bool]] = {}  # by id of a living handle that somebody asked for: whether it was waited for
synchronized = [0]  # how often the program waited for all of a device's work
# By wrapper: the last backward that came to its outputs, and the forwards since then whose backward sends gradients.
_tasks: weakref.WeakKeyDictionary[nn.Module, list[int]] = weakref.WeakKeyDictionary()
_installed = [False]
begun: list[Where | None] = [None]  # where the process group was started, if that was under a watch


class _Local(threading.local):
    """Whether this thread is inside of a collective: some are made of others."""

    inside = False
    moving = False


_local = _Local()


def install(patches: Patches) -> None:
    patches.method(nn.Module, "_apply", _apply)
    patches.function(torch.serialization, "save", _save)
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d

    patches.on_undo(_taken_down)
    if _several():
        _put(patches)
    else:
        patches.function(distributed_c10d, "init_process_group", functools.partial(_init, patches))


def _several() -> bool:
    dist = torch.distributed
    return dist.is_initialized() and dist.get_world_size() > 1


def _init(patches: Patches, original: Callable) -> Callable:
    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if listening():
            begun[0] = here()
            if _several():
                _put(patches)
        return result

    return init_process_group


def _put(patches: Patches) -> None:
    if _installed[0]:
        return
    from torch.distributed import distributed_c10d

    _installed[0] = True
    kinds = {**dict.fromkeys(_COLLECTIVES, "collective"), **dict.fromkeys(_TRANSFERS, "transfer")}
    patches.functions(
        distributed_c10d, {name: functools.partial(_collective, name, kind) for name, kind in kinds.items()}
    )
    for name in _WAITS:
        patches.method(distributed_c10d.Work, name, _wait)
    patches.method(nn.parallel.DistributedDataParallel, "forward", _forward)
    patches.function(torch.cuda, "synchronize", _synchronize)
    for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
        patches.method(fetcher, "fetch", _fetch)


def _taken_down() -> None:
    _installed[0], begun[0] = False, None
    waited.clear()


def group_name(group: Any) -> str | None:
    """The name of a group, the same on all of its ranks; None for one that this rank is not in."""
    from torch.distributed import distributed_c10d

    if group is None:
        group = distributed_c10d._get_default_group()
    return getattr(group, "group_name", None)


def _collective(name: str, event_name: str, original: Callable) -> Callable:
    names = list(inspect.signature(original).parameters)
    at = names.index("group") if "group" in names else None

    def collective(*args: Any, **kwargs: Any) -> Any:
        if _local.inside or torch.compiler.is_compiling() or not listening() or events.is_quiet():
            return original(*args, **kwargs)
        given = kwargs.get("group", args[at] if at is not None and len(args) > at else None)
        group = group_name(given) if torch.distributed.is_initialized() else None
        if group is None:
            return original(*args, **kwargs)
        what = _size(args[0] if args else next(iter(kwargs.values()), None)) if name in _EQUAL else ""
        event = begin(event_name, name, group=group, what=what, args=args, kwargs=kwargs)
        _local.inside = True
        try:
            result = original(*args, **kwargs)
        except BaseException as error:
            if event is not None:
                event.error = error
                end(event)
            raise
        finally:
            _local.inside = False
        if event is not None:
            event.result = result
            end(event)
        return result

    return collective


def _size(tensor: Any) -> str:
    if not isinstance(tensor, torch.Tensor):
        return ""
    return f"{tensor.numel()} of {str(tensor.dtype).removeprefix('torch.')}"


def _wait(original: Callable) -> Callable:
    def wait(self: Any, *args: Any, **kwargs: Any) -> Any:
        mark = waited.get(id(self))
        if mark is not None:
            mark[0] = True
        return original(self, *args, **kwargs)

    return wait


def _synchronize(original: Callable) -> Callable:
    def synchronize(*args: Any, **kwargs: Any) -> None:
        synchronized[0] += 1
        original(*args, **kwargs)

    return synchronize


def _fetch(original: Callable) -> Callable:
    def fetch(self: Any, *args: Any, **kwargs: Any) -> Any:
        event = begin("loader.fetch", self)
        result = original(self, *args, **kwargs)
        end(event)
        return result

    return fetch


def _forward(original: Callable) -> Callable:
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling() or not listening() or events.is_quiet():
            return original(self, *args, **kwargs)
        group = group_name(self.process_group)
        # Under `join`, ranks that are done answer from inside of torch: they come to no forward and no backward.
        joined = getattr(getattr(self, "_join_config", None), "enable", False)
        if group is None or joined or torch.distributed.get_world_size(self.process_group) < 2:
            return original(self, *args, **kwargs)
        if self.will_sync_module_buffers():
            happened("collective", "forward", group=group, what="")
        sends = torch.is_grad_enabled() and self.require_backward_grad_sync
        output = original(self, *args, **kwargs)
        if sends:
            task = _tasks.setdefault(self, [-1, 0])
            task[1] += 1
            announce = _Announce(group, here(), task)
            for node in {tensor.grad_fn for tensor in tensors(output) if tensor.grad_fn is not None}:
                node.register_prehook(announce)
        return output

    return forward


class _Announce:
    """A hook of the outputs of DistributedDataParallel: a backward has come to them, so gradients will be sent."""

    def __init__(self, group: str, place: Where | None, last: list[int]):
        self.group = group
        self.place = place
        self.last = last  # the wrapper's last backward: it may come to several outputs, or outputs of several forwards

    def __call__(self, grads: Any) -> None:
        task = torch._C._current_graph_task_id()
        if task != self.last[0] and listening():
            since, self.last[:] = self.last[1], [task, 0]
            happened("collective", "backward", group=self.group, what=f"forward number {since}", place=self.place)


def _apply(original: Callable) -> Callable:
    def _apply(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if _local.moving or torch.compiler.is_compiling():
            return original(self, *args, **kwargs)
        event = begin("module.move", self)
        if event is None:
            return original(self, *args, **kwargs)
        _local.moving = True
        try:
            result = original(self, *args, **kwargs)
        finally:
            _local.moving = False
        end(event)
        return result

    return _apply


def _save(original: Callable) -> Callable:
    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        event = None
        if isinstance(f, (str, os.PathLike)) and not torch.compiler.is_compiling():
            event = begin("save", os.path.realpath(os.fspath(f)))
        result = original(obj, f, *args, **kwargs)
        end(event)
        return result

    return save
