"""Gradients that are accumulated: a step that comes every so many batches, while a backward comes with each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.flow import before, may_meet
from torchlint.dryrun.guards import Asked, Guard
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Opaque, Value, number, real
from torchlint.rules.base import View

_EVERY = re.compile(r"(\w+)\s*(?:[-+]\s*1\s*)?\)?\s*%\s*\(?\s*([\w.]+(?:\[[^\]]*\])?)")
_ENGINES = ("deepspeed_plugin", "deepspeed_plugins", "megatron_lm_plugin")  # whose backward accumulates, steps and clears
_PLUGINS = ("gradient_accumulation_plugin", *_ENGINES)  # which say how long, too
_UP_TO = re.compile(r"(\w+)\s*(?:==|>=)\s*([\w.]+(?:\[[^\]]*\])?)")
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
        if not step.loops or view.in_own_time(step):
            continue
        for backward in view.of("backward"):
            if (
                backward.loops != step.loops
                or in_accumulate(backward) is not None
                or by_engine(backward)
                or view.reaches(backward, optimizer) is not True
            ):
                continue
            every = every_so_often(step, backward)
            if every is None or not only_gradients(view, step, backward):
                continue
            guard, counter, number = every
            if _adds_up(view, step, backward, optimizer, guard):
                yield Accumulation(optimizer, step, backward, guard[0], counter, number)


def accumulated_by_accelerate(view: View) -> Iterator[Accumulation]:
    """Those of `with accelerator.accumulate(model)`, of batches that go through one backward each."""
    for step in view.steps():
        context = in_accumulate(step)
        if context is None or not step.loops:
            continue
        for backward in view.of("backward"):
            if backward.loops != step.loops or in_accumulate(backward) is not context or backward.get("framework") is None:
                continue
            if view.reaches(backward, step.subject) is True and only_gradients(view, step, backward):
                yield Accumulation(step.subject, step, backward, context.site, "", length_text(backward) or "the")


def every_so_often(step: Event, backward: Event) -> tuple[tuple, str, str] | None:
    """The one condition that a step is under and its backward is not, if it is `i % k == 0`: with the names of i and
    k. (Either may stand under one that is the same for all batches: `if args.fp16: ... else: loss.backward()`, or
    `if k is not None:` around the whole step.)"""
    if not may_meet(step, backward):
        return None  # `if k > 1: ... else: loss.backward(); optimizer.step()`: each of the two ways steps by itself
    extra = [guard for guard in step.guards if guard not in backward.guards and not _is_the_same(guard, step)]
    if len(extra) != 1 or not extra[0][1] or any(guard not in step.guards and step.loops[-1] in guard.varies for guard in backward.guards):
        return None
    text = extra[0][0].text()
    match = _EVERY.search(text)
    if match is None or not (_REST.search(text) or text.startswith("not ")):
        match = _UP_TO.fullmatch(text)
        if match is None or not _begins_again(extra[0].site, match[1]):
            return None
    if match[2] in ("0", "1"):
        return None
    if _never_longer(extra[0], match[2]):
        return None
    return extra[0], match[1], match[2]


def _begins_again(asked: Site, counter: str) -> bool:
    """Whether a counter is one that the program keeps by hand: each batch adds one, and what it is asked for begins anew with 0.
    `if counter == k: ...; counter = 0`"""
    branch = next((node for node in asked.parsed.around(asked.node) if isinstance(node, cst.If)), None)
    if branch is None or branch.test is not asked.node or branch.orelse is not None:
        return False
    within = [node for node in walk(branch.body) if isinstance(node, cst.Assign) and is_zero(asked.parsed, node, counter)]
    added = [node for node in walk(asked.parsed.module) if isinstance(node, cst.AugAssign) and asked.parsed.text(node.target) == counter]
    return bool(within) and len(added) == 1 and isinstance(added[0].operator, cst.AddAssign) and asked.parsed.text(added[0].value) == "1"


def is_zero(parsed: Parsed, node: cst.Assign, counter: str) -> bool:
    """Whether a statement sets a counter to 0."""
    return any(parsed.text(target.target) == counter for target in node.targets) and parsed.text(node.value) == "0"


# An option that is there or not: nothing in a loop sets it.
_OPTION = re.compile(r"(?:not )?[A-Za-z_][\w.]*(?:\[['\"]\w+['\"]\])?(?: is (?:not )?None| > [01])?$")


def _is_the_same(guard: Guard, step: Event) -> bool:
    """Whether a condition is the same for all batches of the loop that a step is in."""
    text = guard.site.text()
    if _OPTION.match(text) is None:
        return False
    return step.loops[-1] not in guard.varies or "[" in text


def _never_longer(guard: Guard, every: str) -> bool:
    """Whether what the batches are counted by is one, wherever it is not what DeepSpeed's configuration says: its engine
    adds up by itself."""
    reads = Asked(guard.site).reads
    if len(reads) != len(guard.reads):
        return False
    value = next((value for node, value in zip(reads, guard.reads) if guard.site.parsed.text(node) == every), None)
    return value is not None and all(number(alt) == 1 or _of_deepspeed(alt) for alt in real(value))


def _of_deepspeed(value: Value | None) -> bool:
    while isinstance(value, Opaque):
        if "deepspeed" in value.name.lower() or value.name.startswith("ds_config"):
            return True
        value = value.origin
    return False


def in_accumulate(event: Event):
    """The `with accelerator.accumulate(...)` that an event is in; None if it is in none."""
    return next((context for context in event.contexts if context.kind == "accumulate"), None)


def by_engine(backward: Event) -> bool:
    """Whether a backward is that of an Accelerator that leaves the whole step to an engine."""
    return any(isinstance(owner, Instance) and not owner.kwargs.keys().isdisjoint(_ENGINES) for owner in real(backward.get("framework")))


def length_of(backward: Event) -> Value | int | None:
    """By what a framework divides the loss of a backward: Accelerate by the length of its accumulations, wherever it is called.
    None where that is not known; 1 where nothing is divided."""
    framework = backward.get("framework")
    if framework is None:
        return 1
    alts = real(framework)
    owner = alts[0] if len(alts) == 1 else None
    if not isinstance(owner, Instance) or owner.kind != "accelerator":
        return None
    if "Accelerator" not in owner.type:
        return 1  # Fabric's backward divides by nothing
    if any(name in owner.kwargs for name in _PLUGINS) or "**" in owner.kwargs:
        return None
    given = owner.arg(3, "gradient_accumulation_steps")
    known = 1 if given is None else number(given)
    return given if known is None else int(known)


def length_text(backward: Event) -> str:
    """How long an accumulation is, as the call that makes the accelerator says it; "" where it does not."""
    alts = real(backward.get("framework"))
    site = getattr(alts[0], "site", None) if len(alts) == 1 else None
    for arg in getattr(site.node, "args", ()) if site is not None else ():
        if arg.keyword is not None and arg.keyword.value == "gradient_accumulation_steps":
            return site.parsed.text(arg.value)
    return ""


def only_gradients(view: View, step: Event, backward: Event) -> bool:
    """Whether no other backward of the loop may fill the gradients that a step uses: in a GAN, that of the
    generator's loss does, and what the discriminator's leaves in the generator is to be cleared. (One place is one
    backward, whatever its loss was made of; and so are two of which a run comes to one: `if fp16: ... else: ...`.)"""
    loop = step.loops[-1]
    return not any(
        other.site != backward.site and loop in other.loops and may_meet(other, step) and may_meet(other, backward)
        and view.reaches(other, step.subject) is not False
        for other in view.of("backward")
    )


def _adds_up(view: View, step: Event, backward: Event, optimizer: Value, guard) -> bool:
    """Whether gradients are cleared under the same condition and nowhere else in the loop."""
    loop = step.loops[-1]
    clears = [
        event
        for event in view.of("optimizer.zero_grad")
        if loop in event.loops and view.may_clear(event, optimizer) and may_meet(event, step)
    ]
    if not clears or any(guard not in event.guards for event in clears):
        return False
    found, _ = before(
        step, lambda event: event.kind == "unknown" and loop in event.loops and may_step_or_clear(view, event, optimizer), loop
    )
    return not found


def may_step_or_clear(view: View, event: Event, optimizer: Value) -> bool:
    """Whether a call that is not seen may end an accumulation. (The `backward(loss)` of an optimizer for float16 does not.)"""
    return event.get("name") != "backward" and view.may_touch(event, optimizer)
