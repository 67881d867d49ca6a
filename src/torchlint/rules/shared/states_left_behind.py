"""The state of an optimizer that is loaded while its model is still on the CPU: what moves the model moves nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import after, happens_after
from torchlint.dryrun.values import Class, Event, Instance, Iter, Opaque, Value, number, real
from torchlint.rules.base import View
from torchlint.rules.shared.checkpoints import in_files
from torchlint.rules.shared.devices import on_gpu

# What may bring the state along, or makes the model where it shall be.
_BY_HAND = re.compile(
    r"\.state\b(?!_dict)|optimi[sz]er\w*_to\(|\boptim\w*\.(?:to|cuda)\(|\bset_default_(?:device|tensor_type)\b|\bwith\s+torch\.device\("
    r"|\b(?:Accelerator|Fabric|deepspeed)\b"
)
_ON_THE_CPU = ("torch.nn.", "torchvision.models.")
_OF_A_MODEL = ("modules", "children", "named_modules", "named_children")
_NOT_SEEN = ("unknown", "called")


def states_left_behind(view: View) -> Iterator[tuple[Event, Event]]:
    """The loads of an optimizer's state after which its model goes to the GPU, and the optimizer steps with that state; each with the move."""
    moves = [move for move in view.of("module.move") if on_gpu(move.device)]
    told: set[int] = set()
    for load in view.of("load") if moves else ():
        for optimizer in real(load.subject):
            if not _remembers(optimizer) or id(load.site.node) in told:
                continue
            move = next((move for move in moves if _leaves_behind(view, load, move, optimizer)), None)
            if move is not None and not in_files(view, load, _BY_HAND):
                told.add(id(load.site.node))
                yield load, move


def _remembers(optimizer: Value) -> bool:
    """Whether it is one of torch's that keeps something from step to step."""
    if not isinstance(optimizer, Instance) or not optimizer.type.startswith("torch.optim."):
        return False
    momentum = optimizer.arg(2, "momentum")
    return optimizer.type != "torch.optim.SGD" or momentum is not None and number(momentum) != 0


def _leaves_behind(view: View, load: Event, move: Event, optimizer: Value) -> bool:
    models = [whole for held in view.held_by(optimizer)[0] for whole in real(_gone_through(held))]
    moved = [alt for alt in real(move.subject) if any(view.related_modules(alt, model) for model in models)]
    if not moved or move.serial < load.serial or not all(_is_seen_on_the_cpu(view, alt, load) for alt in moved):
        return False
    if not happens_after(load, {move}.__contains__):
        return False
    found, _ = after(move, lambda event: _is_about(event, optimizer))
    return any(event.kind != "load" for event in found)


def _gone_through(module: Value) -> Value:
    """The model whose modules are gone through, where one of these is what an optimizer holds: `for part in model.modules()`."""
    while isinstance(module, Opaque) and isinstance(module.origin, Iter) and module.origin.kind in _OF_A_MODEL and module.origin.base is not None:
        module = module.origin.base
    return module


def _is_about(event: Event, optimizer: Value) -> bool:
    """Whether an optimizer steps, or is filled anew."""
    if event.kind in ("load", "optimizer.step"):
        return any(alt is optimizer for alt in real(event.subject))
    return event.kind == "scaler.step" and any(alt is optimizer for alt in real(event.optimizer))


def _is_seen_on_the_cpu(view: View, model: Value, load: Event) -> bool:
    """Whether a model was made in sight, and neither moved nor given to somebody who is not seen before the load."""
    if not isinstance(model, Instance) or model.site is None:
        return False
    made_here = set(model.cls.externals()) <= {"torch.nn.Module"} if isinstance(model.cls, Class) else model.type.startswith(_ON_THE_CPU)
    if not made_here and model.kind != "wrapper" or "device" in model.kwargs:
        return False
    for event in view.of("module.move", *_NOT_SEEN):
        if event.serial < load.serial:
            given = event.args if event.kind in _NOT_SEEN else [event.subject]
            if any(_may_be(view, alt, model) for value in given for alt in real(value)):
                return False
    return True


def _may_be(view: View, value: Value, model: Value) -> bool:
    return isinstance(value, Instance) and value.kind in ("module", "wrapper") and view.related_modules(value, model)
