"""104: gradients are accumulated over several batches, and the loss is not divided by how many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchlint.dryrun.flow import before, may_meet
from torchlint.dryrun.values import Const, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View

CODE = 104
_EVERY = re.compile(r"(\w+)\s*(?:[-+]\s*1\s*)?\)?\s*%\s*\(?\s*([\w.]+(?:\[[^\]]*\])?)")
_REST = re.compile(r"==\s*(?:0|1|[\w.]+\s*-\s*1)\b")


@dataclass(slots=True)
class Accumulation:
    """A step that comes every so many batches, of an optimizer whose gradients add up in between."""

    optimizer: Value
    step: Event
    backward: Event
    guard: object  # the place of the condition
    counter: str
    every: str


def accumulations(view: View) -> Iterator[Accumulation]:
    """The accumulating loops of a run: `backward()` for each batch, `step()` and `zero_grad()` every k batches."""
    for step in view.steps():
        optimizer = step.subject
        if not step.loops or step.get("closure") is not None:
            continue
        for backward in view.of("backward"):
            if (
                backward.loops != step.loops
                or backward.get("framework") is not None
                or view.reaches(backward, optimizer) is not True
            ):
                continue
            every = every_so_often(step, backward)
            if every is None or not only_gradients(view, step, backward):
                continue
            guard, counter, number = every
            if _adds_up(view, step, backward, optimizer, guard):
                yield Accumulation(optimizer, step, backward, guard[0], counter, number)


def every_so_often(step: Event, backward: Event) -> tuple[tuple, str, str] | None:
    """The one condition that a step is under and its backward is not, if it is `i % k == 0`: with the names of i and
    k."""
    extra = [guard for guard in step.guards if guard not in backward.guards]
    if len(backward.guards) + len(extra) != len(step.guards) or len(extra) != 1 or not extra[0][1]:
        return None
    text = extra[0][0].text()
    match = _EVERY.search(text)
    if match is None or not (_REST.search(text) or text.startswith("not ")) or match[2] in ("0", "1"):
        return None
    return extra[0], match[1], match[2]


def only_gradients(view: View, step: Event, backward: Event) -> bool:
    """Whether no other backward of the loop may fill the gradients that a step uses: in a GAN, that of the
    generator's loss does, and what the discriminator's leaves in the generator is to be cleared."""
    loop = step.loops[-1]
    return not any(
        other is not backward and loop in other.loops and may_meet(other, step) and view.reaches(other, step.subject) is not False
        for other in view.of("backward")
    )


def _adds_up(view: View, step: Event, backward: Event, optimizer: Value, guard) -> bool:
    """Whether gradients are cleared under the same condition and nowhere else in the loop."""
    loop = step.loops[-1]
    clears = [
        event for event in view.of("optimizer.zero_grad") if loop in event.loops and view.may_clear(event, optimizer)
    ]
    if not clears or any(guard not in event.guards for event in clears):
        return False
    found, _ = before(
        step, lambda event: event.kind == "unknown" and loop in event.loops and view.may_touch(event, optimizer), loop
    )
    return not found


def check(view: View) -> Iterator[Report]:
    """An accumulation whose loss is torch's own mean over the batch, with nothing in the file that divides by k."""
    for found in accumulations(view):
        if not _size_matters(view, found) or _scaled(view, found):
            continue
        roles = {
            "loss": view.owner_text(found.backward, "loss"),
            "every": found.every,
            "call": view.call_text(found.backward.site),
        }
        yield Report(CODE, found.backward.site, roles, [(found.guard, "the step comes only then")])


def _size_matters(view: View, found: Accumulation) -> bool:
    """Whether gradients that are k times as large make another step: Adam and its like divide that out again, unless
    the gradients are clipped before."""
    optimizer = found.optimizer
    if any(found.step.loops[-1] in event.loops for event in view.of("clip")):
        return True
    return (
        isinstance(optimizer, Instance)
        and isinstance(optimizer.cls, Ref)
        and optimizer.type in ("torch.optim.SGD", "torch.optim.ASGD")
    )


def _scaled(view: View, found: Accumulation) -> bool:
    """Whether something divides by the number of batches: the loss, its summands, the gradients; or the loss is a
    sum."""
    for event in view.of("loss"):
        given = event.kwargs.get("reduction") or (
            event.subject.kwargs.get("reduction") if isinstance(event.subject, Instance) else None
        )
        if given is not None and not (isinstance(given, Const) and given.value == "mean"):
            return True
    last = re.escape(found.every.rsplit(".", 1)[-1].rstrip("]'\"").split("[")[-1].lstrip("'\""))
    divided = re.compile(rf"/=?\s*\(?\s*(?:float\(|int\(|max\()?\s*[\w.\[\]'\"]*\b{last}\b|\*\s*\(?\s*1(?:\.0*)?\s*/")
    texts = {
        id(event.site.parsed.facts): event.site.parsed.facts
        for event in view.run.graph.events
        if event.site is not None
    }
    if any(divided.search("".join(facts.lines)) for facts in texts.values()):
        return True
    optimizer = found.optimizer
    if isinstance(optimizer, Instance) and optimizer.site is not None and "/" in optimizer.site.text():
        return True  # the learning rate may make up for it
    return _divided(found)


def _divided(found: Accumulation) -> bool:
    """Whether the loss was divided or multiplied by anything, in the function that calls backward."""
    here = found.backward.site.parsed
    for value in (*real(found.backward.subject), *found.backward.parts):
        site = getattr(value, "site", None)
        if site is None or site.parsed is not here:
            continue
        operator = getattr(site.node, "operator", None)
        if type(operator).__name__ in ("Divide", "DivideAssign", "Multiply", "MultiplyAssign"):
            return True
    node = found.backward.site.node
    owner = here.text(node.func.value) if hasattr(node.func, "value") else ""
    return "/" in owner or "*" in owner
