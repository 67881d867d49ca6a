"""103: one half of a training step is missing, or comes twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import after, before, common_loop
from torchlint.dryrun.torch_api.hosted import is_accelerator
from torchlint.dryrun.values import MOST, Dict, Event, Func, Instance, Method, Ref, Seq, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.accumulation import by_engine
from torchlint.rules.shared.twins import twin_trained

CODE = 103
_AGAIN = (
    "`{call}` uses the gradients of `{backward}` a second time: the same update is made twice",
    "call it once per `backward()`: take one of the two steps away, or make new gradients in between",
)
_BY_ACCELERATOR = (
    "the loop calls `{call}` but not the other half of a training step, so `{model}` never learns",
    "a training step needs both, in this order: `{owner}.backward({loss})`, then `{optimizer}.step()`",
)
_OTHER_UPDATE = re.compile(r"grad|\blr\b|_lr\b|param_groups|\.data\b|state_dict|copy_")  # between two steps: the second is another one

_UPDATES = re.compile(r"step|update|optim|train", re.IGNORECASE)  # a call of something that may change weights by itself


def check(view: View) -> Iterator[Report]:
    """A loop that computes a loss and steps, with no backward anywhere; or backward, and the optimizer never steps; or two steps
    on one backward."""
    for optimizer in view.optimizers():
        if isinstance(optimizer, Instance) and isinstance(optimizer.cls, Ref):
            yield from _step_again(view, optimizer) if _gradients_come(view, optimizer) else _step_alone(view, optimizer)
    for created in view.of("optimizer.create"):
        yield from _backward_alone(view, created)


def _gradients_come(view: View, optimizer) -> bool:
    if view.of("autograd.grad", "grad.set") or any(view.reaches(event, optimizer) is not False for event in view.of("backward")):
        return True
    return any(view.may_touch(event, optimizer) for event in view.of("unknown", "called"))


def _step_alone(view: View, optimizer) -> Iterator[Report]:
    for step in view.steps():
        if step.subject is not optimizer or not step.loops or step.get("closure") is not None:
            continue
        losses = [event for event in view.of("loss", "forward") if common_loop(event, step) is step.loops[-1]]
        if any(event.kind == "loss" for event in losses) or losses and view.held_by(optimizer)[0]:
            roles = {"call": view.call_text(step.site), "optimizer": view.owner_text(step, "optimizer")}
            roles["model"] = view.model_text(optimizer)
            others = [event for event in view.of("backward") if common_loop(event, step) is step.loops[-1]]
            if any(twin_trained(view, other, optimizer) for other in others):
                continue  # of a second model of the same class 136 tells
            if others and any(other.site == step.site and other.subject is not optimizer for other in view.steps()):
                continue  # one of several optimizers, as an option chooses, and with it the model that the loss comes out of
            if others:  # the loss of another model, as the optimizer sees it
                related = (others[-1].site, "this computes no gradient for what the optimizer steps")
            else:
                related = (losses[-1].site, "computed here, but never sent backward")
            yield Report(CODE, step.site, roles, [related], words=_of_accelerator(view, optimizer, roles))


def _step_again(view: View, optimizer: Instance) -> Iterator[Report]:
    steps = [step for step in view.steps() if step.subject is optimizer and step.loops and not view.in_own_time(step)]

    def matters(event: Event) -> bool:
        if event.kind == "backward":
            return view.reaches(event, optimizer) is not False
        if event.kind in ("unknown", "called"):
            return view.may_touch(event, optimizer) or _given_model(view, event, optimizer)
        return event.kind in ("autograd.grad", "clip", "loop") or event in steps or view.may_clear(event, optimizer)

    for step in steps:
        back, start = before(step, matters, step.loops[-1])
        first = back[0] if len(back) == 1 and not start and back[0] in steps else None
        if first is None or first.site == step.site or not _side_by_side(first, step) or {first.get("scaler"), step.get("scaler")} != {None}:
            continue
        made, start = before(first, matters, step.loops[-1])
        if len(made) == 1 and not start and made[0].kind == "backward" and _side_by_side(made[0], first) and view.reaches(made[0], optimizer):
            roles = {"call": view.call_text(step.site), "backward": view.call_text(made[0].site)}
            related = [(first.site, "the first step"), (made[0].site, "the backward pass that made the gradients")]
            yield Report(CODE, step.site, roles, related, words=_AGAIN)


def _side_by_side(one: Event, other: Event) -> bool:
    """Whether one event always comes with the other, and nothing between their lines makes another update of it."""
    if one.loops != other.loops or list(one.guards) != list(other.guards):
        return False
    if one.site.parsed is not other.site.parsed:
        return True
    rows = sorted((one.site.location().row, other.site.location().row))
    return one.kind == "backward" or not _OTHER_UPDATE.search("".join(one.site.parsed.facts.lines[rows[0] : rows[1] - 1]))


def _given_model(view: View, event: Event, optimizer: Instance) -> bool:
    """Whether a call that is not seen gets what the optimizer updates."""
    given = [alt for value in (event.subject, *event.get("args", ())) for alt in real(value)]
    modules, tensors, _ = view.held_by(optimizer)
    return any(alt in tensors or any(view.related_modules(module, alt) for module in modules) for alt in given)


def _of_accelerator(view: View, optimizer: Instance, roles: dict[str, str]) -> tuple[str, str] | None:
    """The words where an Accelerator prepared an optimizer: its own `backward` is the other half."""
    for event in view.of("prepare"):
        if is_accelerator(event.subject) and any(alt is optimizer for value in event.args for alt in real(value)):
            roles["owner"] = view.owner_text(event, "accelerator")
            return _BY_ACCELERATOR
    return None


def _backward_alone(view: View, created) -> Iterator[Report]:
    optimizer = created.subject
    if not isinstance(optimizer, Instance) or not isinstance(optimizer.cls, Ref):
        return
    stepping = [*view.optimizers(), *(alt for event in view.of("scaler.step") for alt in real(event.get("optimizer")) or (None,))]
    if any(not _is_another(other, optimizer) for other in stepping) or id(optimizer) in view.run.escaped or _handed_out(view, optimizer):
        return
    if any(view.may_touch(event, optimizer) for event in view.of("unknown", "called")):
        return
    cleared = [event for event in view.of("optimizer.zero_grad") if not stepping or event.subject is optimizer]
    if not cleared:
        return
    for backward in view.of("backward"):
        if stepping and not _of_its_own(view, backward, optimizer, stepping):
            continue  # whoever trains by this loss may be one that steps
        framework = backward.get("framework")
        if backward.loops and view.reaches(backward, optimizer) and (framework is None or is_accelerator(framework) and not by_engine(backward)):
            if _by_hand(view, backward):
                return
            roles = {"call": view.call_text(backward.site), "loss": view.loss_text(backward), "model": view.model_text(optimizer)}
            roles["optimizer"] = view.owner_text(cleared[0], "optimizer") if cleared[0].subject is optimizer else "optimizer"
            words = None if framework is None else _of_accelerator(view, optimizer, roles)
            yield Report(CODE, backward.site, roles, [(created.site, "this optimizer never steps")], words=words)
            return


def _is_another(stepping: Value | None, optimizer: Instance) -> bool:
    """Whether what steps is known to be another optimizer."""
    return isinstance(stepping, Instance) and isinstance(stepping.cls, Ref) and stepping is not optimizer


def _of_its_own(view: View, backward: Event, optimizer: Instance, stepping: list[Value]) -> bool:
    """Whether a loss comes out of what one optimizer alone has: `critic(fake.detach())`, in a loop where only the generator's steps."""
    following, _ = after(backward, lambda event: event.kind in ("backward", "optimizer.step", "scaler.step"))
    if any(event.kind != "backward" for event in following):
        return False  # another one steps in its place, which 136 tells
    mine = view.held_by(optimizer)[0]
    others = [view.held_by(other)[0] for other in stepping]
    sources = [flow.subject for flow in backward.flows if flow.kind == "forward"]
    if not sources or len(backward.flows) >= MOST or not all(others):
        return False
    if any(view.related_modules(module, other) for module in mine for held in others for other in held):
        return False
    if any(_UPDATES.search(event.name or "") and _given_model(view, event, optimizer) for event in view.of("unknown", "called")):
        return False
    return all(any(view.related_modules(module, source) for module in mine) for source in sources)


def _by_hand(view: View, backward) -> bool:
    """Whether the same loop writes to parameters itself: `p.data.add_(p.grad, alpha=-lr)`."""
    return any(
        event.loops[: len(backward.loops)] == backward.loops and event.site.parsed.unit.words & {"grad"}
        for event in view.of("inplace", "augment") if event.site is not None
    )


def _handed_out(view: View, optimizer: Instance) -> bool:
    """Whether code outside this run may come by the optimizer, and step it."""
    if any(_holds(view, event.subject, optimizer) for event in view.of("return")):
        return True
    kept = [event for event in view.of("setattr") if any(alt is optimizer for alt in real(event.value))]
    if not kept:
        return False
    # Kept on an object of a whole program, in a file that does not know the word, it steps nowhere.
    whole = view.run.root is None and not any(id(event.subject) in view.run.escaped for event in kept)
    return not whole or any("step" in event.site.parsed.facts.words for event in kept)


def _holds(view: View, value: Value, optimizer: Instance, depth: int = 0) -> bool:
    for alt in real(value):
        if alt is optimizer or isinstance(alt, (Func, Method)) or isinstance(alt, Instance) and alt.kind == "instance":
            return True
        if isinstance(alt, (Seq, Dict)) and (depth > 3 or any(_holds(view, item, optimizer, depth + 1) for item in view.run.known_items(alt))):
            return True
    return False
