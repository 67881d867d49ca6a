"""005: a part of the step goes around the Accelerator that prepared the rest of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.torch_api.hosted import is_accelerator
from torchlint.dryrun.values import Event, Instance, Opaque, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, code_of, replace

CODE = 5
_BY_HAND = re.compile(r"unscale_gradients|\.scaler\b|_optimizer\.scaler|no_sync")
_SYNCS = re.compile(r"sync_gradients|%|should_step|is_last|accumulat")
_SCALED = "mixed precision scales no loss here, and an accumulation is not divided by its length"
_CLIPPED = "with fp16 the gradients are still scaled here: the limit is far too low for them"
_EACH = "it does so after each batch, and not once an accumulation"


def check(view: View) -> Iterator[Report]:
    """`loss.backward()`, `torch.nn.utils.clip_grad_norm_`, or the step of an optimizer or scheduler that was not prepared."""
    prepares = [event for event in view.of("prepare") if is_accelerator(event.subject)]
    if not prepares:
        return
    prepared = [alt for event in prepares for value in event.args for alt in real(value)]
    if any(event.get("unseen") for event in prepares) or _has_optimizer(view, prepared):
        yield from _backwards(view, prepares, prepared)
    yield from _clips(view, prepares, prepared)
    if not any(event.get("unseen") for event in prepares):
        yield from _steps(view, prepares, prepared)


def _has_optimizer(view: View, prepared: list[Value]) -> bool:
    """Whether an optimizer is among what was prepared: else the step is torch's own, and needs no other half."""
    stepped = [alt for event in view.of("optimizer.step", "optimizer.zero_grad") for alt in real(event.subject)]
    return any(
        isinstance(one, Instance) and one.kind == "optimizer" or any(one is other for other in stepped) for one in prepared
    )


def _backwards(view: View, prepares: list[Event], prepared: list[Value]) -> Iterator[Report]:
    for event in view.of("backward"):
        node = event.site.node
        if event.get("framework") is not None or not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            continue
        if node.func.attr.value != "backward" or not any(_is_of(view, flow.subject, prepared) for flow in event.flows if flow.kind == "forward"):
            continue
        made = _before(prepares, event)
        if made is None or _BY_HAND.search(_text(event)):
            continue
        owner = _name(made)
        loss = view.owner_text(event, "loss")
        roles = {"call": view.call_text(event.site), "owner": owner, "lost": _SCALED, "instead": f"{owner}.backward({loss})"}
        yield Report(CODE, event.site, roles, [(made.site, "the model was prepared here")], _mend(view, event, made, node))


def _clips(view: View, prepares: list[Event], prepared: list[Value]) -> Iterator[Report]:
    for event in view.of("clip"):
        if event.get("by") is not None or not any(_is_of(view, module, prepared) for module in event.modules):
            continue
        made = _before(prepares, event)
        if made is None or _BY_HAND.search(_text(event)) or not _may_scale(made):
            continue
        owner, name = _name(made), event.get("name")
        given = ", ".join(event.site.parsed.text(arg) for arg in getattr(event.site.node, "args", ()))
        roles = {"call": view.call_text(event.site), "owner": owner, "lost": _CLIPPED, "instead": f"{owner}.{name}({given})"}
        yield Report(CODE, event.site, roles, [(made.site, "the model was prepared here")])


def _steps(view: View, prepares: list[Event], prepared: list[Value]) -> Iterator[Report]:
    """Steps in an accumulation of what was not prepared: they are made for each batch."""
    for event in view.of("optimizer.step", "scheduler.step"):
        within = [context for context in event.contexts if context.kind == "accumulate"]
        thing = event.subject
        if not within or not isinstance(thing, Instance) or any(thing is other for other in prepared) or thing.kind not in ("optimizer", "scheduler"):
            continue
        if any(_SYNCS.search(site.text()) for site, _ in event.guards) or thing.born > event.serial or _single(prepares):
            continue
        made = _before(prepares, event)
        if made is None or thing.kind == "optimizer" and not any(_is_of(view, module, prepared) for module in view.held_by(thing)[0]):
            continue
        if thing.kind == "scheduler" and not any(alt in prepared for alt in real(thing.arg(0, "optimizer"))):
            continue
        if thing.site is None or "accum" in thing.site.text():
            continue  # a schedule whose length is told in batches
        owner, name = _name(made), view.owner_text(event, thing.kind)
        roles = {"call": view.call_text(event.site), "owner": owner, "lost": _EACH, "instead": f"{name} = {owner}.prepare({name})"}
        yield Report(CODE, event.site, roles, [(made.site, f"`{name}` is not among what is prepared here")])


def _is_of(view: View, module: Value | None, prepared: list[Value]) -> bool:
    """Whether a model is one that was prepared, or part of one."""
    if module is None:
        return False
    return any(
        isinstance(one, (Instance, Opaque)) and getattr(one, "kind", "module") in ("module", "wrapper", "instance") and view.related_modules(one, module)
        for one in prepared
    )


def _before(prepares: list[Event], event: Event) -> Event | None:
    """The last prepare that was met before an event."""
    return next((made for made in reversed(prepares) if made.serial < event.serial), None)


def _name(made: Event) -> str:
    node = made.site.node
    return made.site.parsed.text(node.func.value) if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else "accelerator"


def _text(event: Event) -> str:
    """The file around an event: what it does by hand."""
    return "".join(event.site.parsed.facts.lines)


def _may_scale(made: Event) -> bool:
    """Whether gradients may be scaled: a precision is asked for, and none that needs no scaling is written down."""
    given = [alt.kwargs.get("mixed_precision") for alt in real(made.subject) if isinstance(alt, Instance)]
    return bool(given) and all(value is not None and getattr(value, "value", "") not in ("no", "bf16", "fp8", None) for value in given)


def _single(prepares: list[Event]) -> bool:
    """Whether an accumulation is one batch long, as far as it is written down."""
    for made in prepares:
        for alt in real(made.subject):
            if isinstance(alt, Instance) and "**" not in alt.kwargs and "gradient_accumulation_plugin" not in alt.kwargs:
                steps = alt.kwargs.get("gradient_accumulation_steps")
                if steps is None or number(steps) == 1:
                    return True
    return False


def _mend(view: View, event: Event, made: Event, node: cst.Call) -> Mend | None:
    """`accelerator.backward(loss)`, where the accelerator has its name in this very function. Safe where nothing divides the
    loss by the length of an accumulation, which the accelerator would do once more."""
    owner = _name(made)
    if not _in_one_place(made, event) or not owner.isidentifier() or any(arg.star for arg in node.args):
        return None
    if any(arg.keyword is None for arg in node.args):
        return None
    given = [code_of(event.site, node.func.value), *(code_of(event.site, arg).rstrip(", ") for arg in node.args)]
    if "\n" in given[0]:
        return None
    safe = not node.args and "/" not in _unit_text(event)
    return Mend(f"call `{owner}.backward`", [replace(event.site, f"{owner}.backward({', '.join(given)})")], safe)


def _in_one_place(made: Event, event: Event) -> bool:
    """Whether two events stand in one function, or both in the body of one file."""
    one, other = made.site.parsed, event.site.parsed
    return one is other or one.facts is other.facts and one.unit.name[0] == other.unit.name[0] == "<"


def _unit_text(event: Event) -> str:
    unit = event.site.parsed.unit
    if unit.name[0] == "<":
        return _text(event)
    return "".join(event.site.parsed.facts.lines[unit.start - 1 : unit.end])
