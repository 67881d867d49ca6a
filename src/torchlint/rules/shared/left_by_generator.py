"""Gradients that a generator's loss leaves in the discriminator it went through, and that the discriminator's own step takes with the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.source_text import unit_text
from torchlint.dryrun.values import Event, Tensor, Value, real
from torchlint.rules.base import Report, View

_WORDS = (
    "`{loss}.backward()` leaves gradients in `{model}`, which `{step}` takes with those of `{own}`: nothing clears them in between",
    "clear them before `{own}.backward()`: `{model}.zero_grad()`",
)
# Nobody else trains two models on losses against each other.
_ADVERSARIES = re.compile(r"discrim|critic|generator|adversar|(?<![a-z])(?:fake|gan)(?![a-z])|GAN|netD|netG", re.IGNORECASE)
# What keeps a loss from leaving anything in a model: not all of it is seen.
_FREEZES = re.compile(r"requires_?grad|freeze|toggle|trainable", re.IGNORECASE)


def left_by_generator(view: View, code: int) -> Iterator[Report]:
    """`loss_g.backward(); optimizer_g.step(); loss_d.backward(); optimizer_d.step()`, where `loss_g` came out of both models, `loss_d` of the
    discriminator on what the generator gave, cut off from it, and both were cleared before `loss_g.backward()`."""
    backwards = [event for event in view.of("backward") if event.site is not None and event.loops and not event.get("framework")]
    told: set[Event] = set()
    for first in backwards:
        parsed, text = first.site.parsed, first.site.text()
        around = unit_text(parsed.facts, parsed.unit)
        if not _ADVERSARIES.search(around) or _FREEZES.search(around) or "inputs" in text:
            continue
        for optimizer in view.optimizers():
            taken = _taken_by(view, first, optimizer) if _fills(view, first, optimizer) else None
            own = _own_loss(view, first, taken, optimizer, backwards) if taken is not None else None
            if own is None or taken in told:
                continue
            told.add(taken)
            roles = {
                "loss": view.loss_text(first), "model": view.model_text(optimizer), "step": view.call_text(taken.site), "own": view.loss_text(own),
            }
            yield Report(code, first.site, roles, [(own.site, "these gradients are added to them"), (taken.site, "this step takes both")], words=_WORDS)


def _fills(view: View, backward: Event, optimizer: Value) -> bool:
    """Whether a backward leaves gradients in what an optimizer updates: not where its models are frozen for a while."""
    through = [
        flow for flow in backward.flows
        if flow.kind == "forward" and any(view.related_modules(module, flow.subject) for module in view.held_by(optimizer)[0] if flow.subject is not None)
    ]
    return view.reaches(backward, optimizer) is True and bool(through) and all(flow.get("frozen") is None for flow in through)


def _taken_by(view: View, first: Event, optimizer: Value) -> Event | None:
    """The step that takes what a backward left in an optimizer's parameters, on every path, under no other condition."""
    loop = first.loops[-1]

    def ends(event: Event) -> bool:
        if event.kind == "optimizer.step":
            return optimizer in real(event.subject)
        return event.kind != "backward" and (view.may_clear(event, optimizer) or event.kind == "unknown" and view.may_touch(event, optimizer))

    found, open_end = after(first, ends, loop)
    alone = len(found) == 1 and not open_end and found[0].kind == "optimizer.step" and real(found[0].subject) == (optimizer,)
    return found[0] if alone and found[0].loops == first.loops and found[0].guards == first.guards else None


def _own_loss(view: View, first: Event, taken: Event, optimizer: Value, backwards: list[Event]) -> Event | None:
    """The backward of the discriminator's own loss, between the generator's step and the discriminator's."""
    others = [
        step for step in view.steps()
        if first.serial < step.serial < taken.serial and step.loops == first.loops and len(real(step.subject)) == 1
        and real(step.subject)[0] is not optimizer and view.reaches(first, real(step.subject)[0]) is True
    ]
    for step in others:
        other = real(step.subject)[0]
        for own in backwards:
            if own.loops == first.loops and step.serial < own.serial < taken.serial and view.reaches(own, optimizer) is True:
                if _is_given_what_was_cut(view, own, other):
                    return own
    return None


def _is_given_what_was_cut(view: View, own: Event, generators: Value) -> bool:
    """Whether some model of a loss was given what one that the other optimizer trains had made, without its graph: the loss is not for that one."""
    for flow in own.flows:
        for value in (alt for arg in (flow.get("args", ()) if flow.kind == "forward" else ()) for alt in real(arg)):
            made = value.traits.get("out_of") if isinstance(value, Tensor) and value.traits.get("graph") is False else None
            if made is not None and any(view.related_modules(module, made.subject) for module in view.held_by(generators)[0]):
                return True
    return False
