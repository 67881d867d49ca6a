"""207: weights are loaded for inference, and the model stays in training mode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import before, happens_after
from torchlint.dryrun.values import Instance, Ref, Value, real
from torchlint.rules.base import Report, View

CODE = 207
_TRAINS = frozenset(
    {"backward", "fit", "Trainer", "zero_grad", "autograd", "lr_scheduler", "enable_dropout", "finetune", "fine_tune"}
)
_AT_ONCE = frozenset({"fit", "Trainer", "enable_dropout", "finetune", "fine_tune"})
_LEARNS = ("backward", "optimizer.step", "autograd.grad")
_BY_HAND = frozenset({"backward", "zero_grad", "lr_scheduler"})
# A library's models with batch norm in what comes before the head: `net.fc = nn.Linear(512, 2)` leaves it where it is.
_NORMALIZES = re.compile(
    r"torchvision\.models\.(?:\w+\.)?(?:(?:wide_)?resne[xt]t?\d|densenet|mobilenet|mnasnet|shufflenet|efficientnet|googlenet|inception_v3|regnet|vgg\d+_bn)"
)


def check(view: View) -> Iterator[Report]:
    """`load_state_dict`, then a forward in training mode, in a program that trains nothing, or is done with it."""
    whole = view.run.root is None  # of the program's own body all that it calls was seen; what trains is perhaps not called
    loads = view.of("load")
    if not loads:
        return
    if not view.of(*_LEARNS) and (whole or not view.of("optimizer.create")):
        trains = _TRAINS - _BY_HAND if whole else _TRAINS
    elif whole:
        loads, trains = [load for load in loads if not happens_after(load, lambda event: event.kind in _LEARNS)], _AT_ONCE
    else:
        return
    for forward in view.of("forward"):
        model = forward.subject
        if (
            forward.get("inside")
            or forward.get("mode") is not True
            or forward.get("mode_site") is not None
            or forward.site is None
        ):
            continue
        if not isinstance(model, Instance) or forward.site.parsed.facts.words & trains or not _trains(view, model) or _learns(view, model):
            continue
        own = [event for event in loads if any(_same(alt, model) for alt in real(event.subject))]
        found, _ = before(forward, lambda event, own=own: event in own)
        if found and not _may_set_mode(view, model):
            roles = {"model": view.owner_text(forward, "model"), "call": view.call_text(forward.site)}
            yield Report(
                CODE,
                forward.site,
                roles,
                [(found[0].site, "the weights are loaded here; that leaves the mode as it is")],
            )
            return


def _learns(view: View, model: Instance) -> bool:
    """Whether something goes backward through a model: then its mode is that of its training."""
    return any(flow.kind == "forward" and flow.subject is model for event in view.of("backward", "autograd.grad") for flow in event.flows)


def _same(one: Value, model: Instance) -> bool:
    """Whether two values are one model, with or without DataParallel around it."""
    inner = {id(alt) for alt in real(model.args[0])} if model.kind == "wrapper" and model.args else set()
    return one is model or id(one) in inner


def _may_set_mode(view: View, model: Instance) -> bool:
    """Whether code that cannot be seen is given the model, and may call eval() on it."""
    return id(model) in view.run.escaped and any(
        model in real(value)
        for event in view.of("unknown", "called")
        for value in (event.subject, *event.get("args", ()))
    )


def _trains(view: View, module: Value, depth: int = 0) -> bool:
    """Whether some layer in a module computes something else in training mode, and is left in it."""
    if not isinstance(module, Instance) or depth > 12 or view.mode_dependent(module) is not True:
        return False
    inner = [
        child
        for child in view.run.children.get(id(module), ())
        if (id(module), id(child)) not in view.run.unsure_children
    ]
    if module.kind == "wrapper":
        inner.extend(real(module.args[0]) if module.args else ())
    if isinstance(module.cls, Ref) and (not inner or _NORMALIZES.match(module.type)):
        return view.run.mode_of(module) is True
    return any(_trains(view, child, depth + 1) for child in inner)
