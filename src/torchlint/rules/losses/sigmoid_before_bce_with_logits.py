"""303: sigmoid output is given to a loss of the project's own that applies sigmoid itself. (Of torch's losses the page's form tells.)"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Instance, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.operands import operand
from torchlint.rules.shared.raw_scores import untouched_since
from torchlint.rules.shared.several_models import of_some_models

CODE = 303
_FUNCTIONS = frozenset({"torch.sigmoid", "torch.nn.functional.sigmoid", "torch.special.expit"})
CALLS = _FUNCTIONS | {".sigmoid"}
_LOSS = re.compile(r"loss|criterion|bce", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`DiceLoss()(model(x), y)`, whose forward begins with `torch.sigmoid(inputs)`, of a model that ends in a Sigmoid."""
    told: set[int] = set()
    for event in view.of("call", "method", "forward"):
        scores = _operand(event)
        wrong = [alt for alt in real(scores) if _is_of_sigmoid(view, alt, event)] if scores is not None else []
        if not wrong or not of_some_models(wrong, real(scores)):
            continue
        asked = _loss_around(view, event)
        if asked is None or id(asked.node) in told or not _goes_backward(view, event):
            continue
        told.add(id(asked.node))
        related = [(event.site, "the loss applies sigmoid here")]
        related += [(site, "sigmoid is applied here") for site in {id(alt.sites["act"].node): alt.sites["act"] for alt in wrong}.values()]
        yield Report(CODE, asked, {"loss": asked.parsed.text(asked.node.func), "call": view.call_text(asked)}, related)


def _operand(event: Event) -> Value | None:
    """What a sigmoid is taken of; of an event that is none, nothing."""
    if event.kind == "forward":
        is_layer = isinstance(event.subject, Instance) and event.subject.type == "torch.nn.Sigmoid"
        return event.args[0] if is_layer and event.get("args") else None
    return operand(event, _FUNCTIONS, "sigmoid")


def _is_of_sigmoid(view: View, value: Value, event: Event) -> bool:
    """Whether a value is what a sigmoid gave outside of the function that takes another one of it, and learns by it."""
    if not isinstance(value, Tensor) or value.traits.get("act") != "sigmoid" or value.traits.get("graph") is False:
        return False
    act = value.sites.get("act")
    return act is not None and act.parsed is not event.site.parsed and untouched_since(view, value)


def _loss_around(view: View, event: Event) -> Site | None:
    """Where the loss is called whose function takes the sigmoid, whatever the arguments say: by its name it is one, and it is given
    scores and something to compare them with."""
    asked = event.calls[-1] if event.calls else None
    if asked is None or not isinstance(asked.node, cst.Call) or len(asked.node.args) < 2:
        return None
    unit = event.site.parsed
    if any(guard.site.parsed is unit for guard in event.guards):
        return None  # `if self.from_logits:` may know better
    owner = next((other.subject for other in view.of("forward") if other.site == asked), None)
    name = owner.type if isinstance(owner, Instance) and isinstance(owner.cls, Class) else unit.unit.name
    return asked if _LOSS.search(name) else None


def _goes_backward(view: View, event: Event) -> bool:
    """Whether a backward goes through what a sigmoid gave."""
    asked = event.calls[-1]
    for backward in view.of("backward"):
        if any(flow.site in (asked, event.site) for flow in backward.flows) or any(getattr(part, "site", None) == event.site for part in backward.parts):
            return True
    return False
