"""102: gradients are cleared for each batch, and the step comes only every so many batches."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import by_engine, every_so_often, in_accumulate, length_of, only_gradients
from torchlint.rules.shared.cleared_in_turns import cleared_in_turns
from torchlint.rules.shared.computed_in_vain import in_vain

CODE = 102
_WHEN_IT_STEPS = (
    "`{call}` runs at the batch that steps, before its backward: the gradients that `{context}` has added up are thrown away",
    "move `{call}` after `{optimizer}.step()`",
)
_EACH = (
    "`{call}` throws the gradients of each batch away: only optimizers that the accelerator prepared know that `{context}` adds them up",
    "call `{optimizer}.zero_grad()` after `{optimizer}.step()` instead",
)


def check(view: View) -> Iterator[Report]:
    """Gradients that are cleared before the batches of an accumulation are all there. (The other orders of the three are
    judged by the page's own form.)"""
    yield from _every_so_often(view)
    yield from _under_accumulate(view)
    yield from in_vain(view, CODE)
    yield from cleared_in_turns(view, CODE)


def _every_so_often(view: View) -> Iterator[Report]:
    """`zero_grad(); loss.backward(); if i % k == 0: step()`: of k batches, one counts."""
    for step in view.steps():
        optimizer = step.subject
        if not step.loops or view.in_own_time(step) or not isinstance(optimizer, (Instance, Opaque)):
            continue
        if isinstance(optimizer, Opaque) and not view.only_optimizer(optimizer):
            continue
        for backward in view.of("backward"):
            if (
                backward.loops != step.loops
                or in_accumulate(backward) is not None
                or by_engine(backward)
                or view.reaches(backward, optimizer) is not True
            ):
                continue
            if (
                every_so_often(step, backward) is None
                or not only_gradients(view, step, backward)
                or "retain_graph" in backward.get("kwargs", {})
            ):
                continue
            clears = [
                event
                for event in view.of("optimizer.zero_grad")
                if event.loops == step.loops and (_clears(view, event, optimizer) or _clears_all_of(view, event, backward, optimizer))
            ]
            clears = [event for event in clears if set(event.guards) <= set(backward.guards)]
            if clears and not _used_by_another(view, backward, optimizer):
                roles = {
                    "call": view.call_text(clears[0].site),
                    "loss": view.loss_text(backward),
                    "optimizer": (
                        view.owner_text(step, "optimizer")
                        if step.get("scaler") is None
                        else optimizer.name or "optimizer"
                    ),
                }
                yield Report(
                    CODE,
                    clears[0].site,
                    roles,
                    [
                        (backward.site, "the gradients are computed for each batch"),
                        (step.site, "and would be used here, every so many batches"),
                    ],
                )
                break


def _used_by_another(view: View, backward: Event, optimizer: Value) -> bool:
    """Whether the step of another optimizer uses the gradients of every batch: then none is computed in vain, and the rarer step may
    well mean the last batch alone."""
    return any(
        step.loops == backward.loops
        and set(step.guards) <= set(backward.guards)
        and optimizer not in real(step.subject)
        and any(view.reaches(backward, other) is not False for other in real(step.subject))
        for step in view.steps()
    )


def _under_accumulate(view: View) -> Iterator[Report]:
    """`with accelerator.accumulate(model): optimizer.zero_grad(); accelerator.backward(loss); optimizer.step()`. The optimizer
    skips both calls until the last batch, and that one clears what the others have left. Before the `with` it is right: there the
    state is that of the batch before."""
    for step in view.steps():
        context, optimizer = in_accumulate(step), step.subject
        if context is None or not step.loops or not isinstance(optimizer, (Instance, Opaque)) or not _may_be_prepared(view, optimizer):
            continue
        for backward in view.of("backward"):
            if backward.loops != step.loops or in_accumulate(backward) is not context or length_of(backward) == 1 or by_engine(backward):
                continue
            if view.reaches(backward, optimizer) is not True or not only_gradients(view, step, backward):
                continue
            found = next((clear for clear in view.of("optimizer.zero_grad") if _too_early(view, clear, backward, step)), None)
            if found is not None:
                roles = {
                    "call": view.call_text(found.site),
                    "context": view.call_text(context.site),
                    "optimizer": view.owner_text(step, "optimizer"),
                }
                related = [(backward.site, "this adds to the gradients of the batches before"), (step.site, "and this would use them all")]
                words = _WHEN_IT_STEPS if found.subject is optimizer else _EACH
                yield Report(CODE, found.site, roles, related, words=words)
                break


def _may_be_prepared(view: View, optimizer: Value) -> bool:
    """Whether an optimizer may know of the accumulation; one that does not steps with each batch, which 005 tells of."""
    prepares = view.of("prepare")
    if not isinstance(optimizer, Instance) or any(event.get("unseen") for event in prepares):
        return True
    return any(alt is optimizer for event in prepares for value in event.args for alt in real(value))


def _too_early(view: View, clear: Event, backward: Event, step: Event) -> bool:
    """Whether a call clears gradients of other batches: the optimizer's own within the block before the backward, a model's
    anywhere in the loop."""
    if clear.loops != step.loops or not _clears(view, clear, step.subject):
        return False
    if clear.subject is not step.subject:
        return set(clear.guards) <= set(backward.guards)
    if in_accumulate(clear) is not in_accumulate(backward) or not clear.serial < backward.serial < step.serial:
        return False
    return all(guard in backward.guards or "sync_gradients" in guard[0].text() for guard in clear.guards)


def _clears_all_of(view: View, event: Event, backward: Event, optimizer: Value) -> bool:
    """Whether an event clears all gradients that a backward computes: those of the one model that its loss came out of, where it is
    not seen what the only optimizer was made of."""
    subjects = real(event.subject)
    asked = {id(flow.subject) for flow in backward.flows if flow.kind == "forward" and not flow.get("inside")}
    unknown = isinstance(optimizer, Opaque) and not any(view.held_by(optimizer)[:2])
    return unknown and view.only_optimizer(optimizer) and len(subjects) == 1 and asked == {id(subjects[0])}


def _clears(view: View, event: Event, optimizer: Value) -> bool:
    """Whether an event clears all gradients of an optimizer for certain."""
    subjects = real(event.subject)
    return len(subjects) == 1 and (
        subjects[0] is optimizer or any(subjects[0] is module for module in view.held_by(optimizer)[0])
    )
