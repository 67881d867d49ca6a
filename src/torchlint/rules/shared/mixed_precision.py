"""What several rules ask of a program that trains in mixed precision."""

from __future__ import annotations

from torchlint.dryrun.values import Const, Event, Instance, Ref, Value, boolean

APEX = "apex.amp.initialize"
LOW = frozenset({"torch.float16", "torch.half"})


def autocast_of(event: Event) -> Instance | None:
    """The torch.autocast that is in force at an event, as far as it can be seen."""
    for context in reversed(event.contexts):
        if context.kind == "autocast":
            made = context.value
            if not isinstance(made, Instance) or _off(made.kwargs.get("enabled")) or made.args and _off(made.args[0]):
                return None
            return made
    return None


def _off(value: Value | None) -> bool:
    return isinstance(value, Const) and value.value is False


def in_half(made: Instance) -> bool:
    """Whether an autocast computes in float16, for certain: on CUDA by default, elsewhere when asked to."""
    if "**" in made.kwargs:
        return False
    dtype = made.kwargs.get("dtype", made.args[1] if len(made.args) > 1 and isinstance(made.args[1], Ref) else None)
    if dtype is not None:
        return isinstance(dtype, Ref) and dtype.name in LOW
    return on_cuda(made)


def on_cuda(made: Instance) -> bool:
    """Whether an autocast is the one of CUDA, for certain."""
    text = made.site.text() if made.site is not None else ""
    if "cpu" in text:
        return False
    device = made.kwargs.get("device_type", made.args[0] if made.args else None)
    if isinstance(device, Const) and isinstance(device.value, str):
        return device.value == "cuda"
    return (device is None or isinstance(device, Const)) and "device_type" not in made.kwargs


def is_scaler(value: Value | None) -> bool:
    """Whether a value is torch's own GradScaler, and not one that is switched off."""
    return (
        isinstance(value, Instance)
        and value.kind == "scaler"
        and isinstance(value.cls, Ref)
        and boolean(value.kwargs.get("enabled")) is not False
    )
