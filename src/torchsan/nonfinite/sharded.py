"""A model that `fully_shard` has spread over processes, made whole on each rank, so that each can replay its own part.

The ranks gather the parameters together, in one order, after all of them have said that they will
(`torchsan.ranks.agreement`). The replay itself talks to nobody: the model runs on whole parameters, without the hooks that
gather and spread them; what these cast is still cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from torch import nn

from torchsan.own import math, re, torch
from torchsan.program.walks import parameters_of, parts_of
from torchsan.stream.events import quiet

_TIMES = 3  # the parameters, their gradients, and what a forward keeps


def is_sharded(modules: Iterable[nn.Module]) -> bool:
    """Whether `fully_shard` was called on one of them."""
    return any(_state(part) is not None for module in modules for part in module.modules())


def why_not(modules: list[nn.Module]) -> str:
    """Why the parameters cannot be gathered; "" where they can."""
    mine = {id(p): p for module in modules for p in module.parameters()}
    managed = {}
    for part in (part for module in modules for part in module.modules()):
        if "FullyShardedDataParallel" in (cls.__name__ for cls in type(part).__mro__):
            return "FullyShardedDataParallel is not run again, only `fully_shard` is"
        if isinstance(part, nn.SyncBatchNorm):
            return "SyncBatchNorm talks to the other processes in its forward"
        state = _state(part)
        if state is not None and not any(_is_of(hook, state) for hook in part._forward_pre_hooks.values()):
            return "layers are sharded as a group"
        for held in _held(state):
            if getattr(held, "is_dtensor", False):
                return "its forward is tensor-parallel, and talks to the other processes"
            managed[id(held.sharded_param)] = held.sharded_param
    if not managed.keys() <= mine.keys():
        return "parameters are gathered at the moment"
    if any(hasattr(p, "device_mesh") and key not in managed for key, p in mine.items()):
        return "its forward is tensor-parallel, and talks to the other processes"
    if any(p.device_mesh.size() != torch.distributed.get_world_size() for p in managed.values()):
        return "it is spread over a part of the processes"
    size = sum(p.numel() * p.element_size() for p in managed.values())
    if not managed or size * _TIMES > _free(next(iter(managed.values())).device):
        return f"the whole model ({size / 1e9:.1f} GB, its gradients and activations beside it) does not fit here"
    return ""


def outline(modules: list[nn.Module]) -> str:
    """What would be gathered, in order: it must be the same on all ranks."""
    return repr([(name, list(p.shape), str(p.dtype)) for name, p in _spread(modules)])


def gather(modules: list[nn.Module]) -> dict[int, torch.Tensor]:
    """The whole of each parameter, in the type it is computed in, by the parameter's id. All ranks call it together."""
    kinds = {
        id(held.sharded_param): getattr(held, "param_dtype", None)
        for module in modules for part in module.modules() for held in _held(_state(part))
    }
    with torch.no_grad(), quiet():
        whole = {id(p): p.detach().full_tensor() for _, p in _spread(modules)}
        return {key: value if kinds.get(key) is None else value.to(kinds[key]) for key, value in whole.items()}


def detach_hooks(part: nn.Module) -> None:
    """Of `fully_shard`'s hooks on a module leave what casts. The caller puts the module's attributes back."""
    state = _state(part)
    if state is None:
        return

    def before(_: nn.Module, args: tuple, kwargs: dict) -> Any:
        return state._cast_forward_inputs(args, kwargs)

    def after(_: nn.Module, args: tuple, output: Any) -> Any:
        return state._cast_output_dtype(output)

    for table, instead in (("_forward_pre_hooks", before), ("_forward_hooks", after)):
        hooks = part.__dict__[table]
        part.__dict__[table] = type(hooks)((key, instead if _is_of(hook, state) else hook) for key, hook in hooks.items())


def _spread(modules: list[nn.Module]) -> Iterator[tuple[str, Any]]:
    seen = set()
    for module in modules:
        for name, parameter in module.named_parameters():
            if hasattr(parameter, "device_mesh") and id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter


def _state(part: nn.Module) -> Any:
    ask = getattr(part, "_get_fsdp_state", None)  # an FSDPModule's
    return ask() if callable(ask) else None


def _held(state: Any) -> Iterator[Any]:
    groups = getattr(state, "_fsdp_param_groups", None)  # one group, in older releases
    for group in groups if groups is not None else [getattr(state, "_fsdp_param_group", None)]:
        yield from getattr(group, "fsdp_params", ())


def _is_of(hook: Any, state: Any) -> bool:
    return getattr(hook, "__self__", None) is state


def _free(device: torch.device) -> float:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:  # what is only cached is free, too
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
        whole = int(found[1]) * 1024 if found else 0
    except OSError:
        whole = 0
    return whole / torch.distributed.get_world_size() if whole else math.inf


def is_distributed() -> bool:
    dist = torch.distributed
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def runs_alone(module: nn.Module) -> bool:
    """Whether a module can be run again by this process alone."""
    if not is_distributed():
        return True
    for part in parts_of(module):
        name = type(part).__name__
        if isinstance(part, nn.SyncBatchNorm) or "FSDP" in name or "FullySharded" in name:
            return False
    return not any(hasattr(p, "device_mesh") for p in parameters_of(module))
