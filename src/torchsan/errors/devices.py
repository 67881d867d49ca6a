"""Which operand is on the wrong device: torch's error names two devices, and not who was to be on which.

That is told by where the parameters are: those of the layer at work, or of the model that runs or ran last. A layer on
another device than all the rest of its model was left behind, and not the input that it was given. Where nothing tells
the side that is right (two tensors of no model), nobody is blamed.
"""

from __future__ import annotations

import ast
from typing import Any

from torch import nn

from torchsan.errors.operands import Frame, Operand, expression, modules_on, path_of
from torchsan.program.where import _USER

_Device = Any  # a torch.device, or what stands for one


def apart(way: list[Frame], operands: list[Operand], watch: Any = None) -> tuple[Operand | None, list[str]]:
    """The operand that stands apart, a layer left behind by one of its parameters; and what is known, in words."""
    running = modules_on(way)
    layer = left_behind(running, operands)
    if layer is not None:
        name = _called(way, layer) or _path(way, layer)
        own = next(layer.parameters())
        root = running[0]
        others = sorted({str(device) for device in _devices(root, but=layer)})
        what = type(root).__name__
        return Operand(name, own, None), [
            f"the parameters of `{name}` are on {own.device}, all others of `{what}` on {', '.join(others)}"
        ]
    home = _home(running, operands, watch)
    odd = next((one for one in operands if one.value.device not in home), None) if home else _single(operands)
    told: dict[_Device, str] = {} if odd is None else {odd.value.device: odd.name}
    for one in operands:
        told.setdefault(one.value.device, one.name)
    if odd is None and len(told) < 2:
        return None, []
    return odd, [", ".join(f"`{name}` is on {device}" for device, name in told.items())]


def left_behind(running: list[nn.Module], operands: list[Operand]) -> nn.Module | None:
    """The outermost of the running modules, outermost first, whose parameters are all on one kind of device and are met
    by operands from where all the rest of the model is; None where there is none.

    Two devices of one kind do not count: that is how a model is spread on purpose, and then the input has to follow.
    """
    for module in running[1:]:
        own = {id(p) for p in module.parameters()}
        places = _devices(module)
        rest = _devices(running[0], but=module)
        given = {one.value.device for one in operands if id(one.value) not in own}
        if (
            len(places) == 1
            and any(id(one.value) in own for one in operands)
            and rest
            and given <= rest
            and given
            and next(iter(places)).type not in {device.type for device in rest}
        ):
            return module
    return None


def _devices(module: nn.Module, but: nn.Module | None = None) -> set[_Device]:
    left_out = {id(p) for p in but.parameters()} if but is not None else set()
    return {p.device for p in module.parameters() if id(p) not in left_out}


def _home(running: list[nn.Module], operands: list[Operand], watch: Any) -> set[_Device]:
    """Where the operands have to be, by the parameters that are nearest to them; empty where that is not one place."""
    own = {id(p) for p in running[-1]._parameters.values() if p is not None} if running else set()
    forward = watch.ledger.last_forward if watch is not None else None
    last = forward.subject if forward is not None else None
    for places in (
        {one.value.device for one in operands if id(one.value) in own},
        {one.value.device for one in operands if isinstance(one.value, nn.Parameter)},
        _devices(running[0]) if running else set(),
        {one.value.device for one in operands if one.value.grad_fn is not None},  # came out of a model
        _devices(last) if isinstance(last, nn.Module) else set(),
    ):
        if places:
            return places if len(places) == 1 else set()
    return set()


def _single(operands: list[Operand]) -> Operand | None:
    """The one of three or more that is not where all others are."""
    places = [one.value.device for one in operands]
    alone = [one for one in operands if places.count(one.value.device) == 1]
    return alone[0] if len(alone) == 1 and len(set(places)) == 2 else None


def _called(way: list[Frame], layer: nn.Module) -> str | None:
    """What the user's line calls the layer: `self.head`, `self.layers[0]`."""
    at = next((at for at in range(len(way) - 1, -1, -1) if way[at].kind == _USER), None)
    node = expression(way[at]) if at is not None else None
    if at is None or at + 1 >= len(way) or not isinstance(node, ast.Call):
        return None
    return ast.unparse(node.func) if way[at + 1].frame.f_locals.get("self") is layer else None


def _path(way: list[Frame], layer: nn.Module) -> str:
    path = path_of(way, layer)
    return type(layer).__name__ if path is None else f"{type(modules_on(way)[0]).__name__}.{path}"
