"""An optimizer over the parameters of a second model of the same class: `Adam(Net().parameters())` beside `net = Net()`."""

from __future__ import annotations

from torchlint.dryrun.values import Class, Event, Instance, Value, real
from torchlint.rules.base import View


def twin_trained(view: View, backward: Event, optimizer: Value) -> Instance | None:
    """The model that a loss is computed with, which no optimizer has, where all that this one has is another one of its class,
    which nothing calls."""
    modules, tensors, complete = view.held_by(optimizer)
    if len(modules) != 1 or tensors or not complete or not view.computes_nothing(modules[0]):
        return None
    mine = modules[0]
    if any(other is not optimizer and view.reaches(backward, other) is not False for event in view.of("optimizer.create") for other in real(event.subject)):
        return None
    twins = [event.subject for event in backward.flows if event.kind == "forward" and _is_another(event.subject, mine)]
    if not twins or view.reaches(backward, optimizer) is not False:
        return None
    return min(twins, key=lambda twin: twin.born)


def _is_another(source: Value | None, mine: Instance) -> bool:
    return isinstance(source, Instance) and source is not mine and isinstance(mine.cls, Class) and source.cls is mine.cls
