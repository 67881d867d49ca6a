"""111: a schedule that counts epochs is stepped for each batch, or the reverse."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.guards import Guard
from torchlint.dryrun.values import Event, Func, Instance, Loop, Opaque, Ref, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.shares_of_epochs import are_shares

CODE = 111
# Where each schedule is told its length: the argument's place and name.
_LENGTH = {
    "CosineAnnealingLR": (1, "T_max"),
    "OneCycleLR": (2, "total_steps"),
    "PolynomialLR": (1, "total_iters"),
    "get_linear_schedule_with_warmup": (2, "num_training_steps"),
    "get_cosine_schedule_with_warmup": (2, "num_training_steps"),
}
_BATCHES = re.compile(r"\blen\(\s*[\w.\[\]'\"]*(?:load|dl\b|iter|batch)[\w.\[\]'\"]*(?:\(\))?\s*\)", re.IGNORECASE)
_STEPS = re.compile(r"(?:^|[._])(?:estimated_stepping_batches|(?:num_|total_)?(?:train_|training_)?steps|max_steps|t_total)(?:\(\))?$")
# What steps a schedule in another way than Lightning does by itself.
_OWN_STEPS = frozenset({"lr_scheduler_step", "lr_schedulers", "automatic_optimization"})
_PATIENT = 50  # who waits for more batches than that has meant batches
_EPOCH = re.compile(r"epoch", re.IGNORECASE)
_OF_BATCHES = re.compile(r"\blen\(|batch|iter|per_epoch|loader", re.IGNORECASE)
_DECAYS = frozenset({"StepLR", "MultiStepLR", "ExponentialLR", "MultiplicativeLR"})
# Functions that make a power of what they call an epoch, or give the same factor for each.
_FUNCTION = r"^(?:lambda\s+|def\s+\w+\()(?P<counted>\w+)\)?\s*:\s*(?:return\s+)?"
_POWERS = {
    "LambdaLR": re.compile(_FUNCTION + r"(?P<gamma>0?\.\d+)\s*\*\*\s*(?P=counted)\s*$"),
    "MultiplicativeLR": re.compile(_FUNCTION + r"(?P<gamma>0?\.\d+)\s*$"),
}
_NOW_AND_THEN = re.compile(r"\(?\w+ *% *(?:[2-9]|\d\d+) *== *0\)?")
_LOW_WITHIN = 1_000  # batches: who has so many a training has few
_LAST_MARK = 200
_FEW = re.compile(r"range\(\s*\d")


def check(view: View) -> Iterator[Report]:
    """The length that a scheduler was given, against the loop that steps it."""
    for created in view.of("scheduler.create"):
        scheduler = created.subject
        if not isinstance(scheduler, Instance) or not isinstance(scheduler.cls, Ref):
            continue
        if scheduler.type.endswith(".ReduceLROnPlateau"):
            yield from _each_loss(view, created, scheduler)
            continue
        if scheduler.type.rsplit(".", 1)[-1] in _DECAYS:
            yield from _worn_off(view, created, scheduler) if _calls_until_low(view, scheduler) is not None else _by_shares(view, created, scheduler)
            continue
        if scheduler.type.endswith(".LambdaLR"):
            yield from _by_a_function(view, created, scheduler)
            yield from _worn_off(view, created, scheduler)
            continue
        length = _LENGTH.get(scheduler.type.rsplit(".", 1)[-1])
        if length is not None and created.site.parsed.unit.name == "configure_optimizers":
            yield from _by_lightning(view, created, scheduler, *_given(created, scheduler, *length))
            continue
        steps = [event for event in view.of("scheduler.step") if real(event.subject) == (scheduler,)]
        if length is None or not steps or any(step.args or not step.loops for step in steps):
            continue
        optimizer_steps = [step for step in view.steps() if set(real(step.subject)) & set(real(created.optimizer))]
        text, words = _given(created, scheduler, *length)
        for step in steps:
            yield from _per_batch(view, created, step, text, optimizer_steps)
        yield from _per_epoch(view, created, scheduler, steps, words, optimizer_steps)


def _each_loss(view: View, created: Event, scheduler: Instance) -> Iterator[Report]:
    """ReduceLROnPlateau is given the loss of each batch that goes backward: some batches are just harder than others."""
    patience = scheduler.arg(3, "patience")
    if patience is not None and (number(patience) is None or number(patience) > _PATIENT):
        return
    for step in view.of("scheduler.step"):
        if real(step.subject) != (scheduler,) or len(step.loops) < 2 or not _EPOCH.search(_head(step.loops[-2])):
            continue
        backwards = [other for other in view.of("backward") if other.loops == step.loops and set(step.guards) <= set(other.guards)]
        given = real(step.args[0]) if step.args else ()
        losses = {id(alt) for other in backwards for alt in real(other.subject)}
        if given and all(id(alt) in losses for alt in given):
            roles = {"call": view.call_text(step.site), "scheduler": _name(created), "length": "patience", "unit": "epochs", "each": "batch"}
            yield Report(CODE, step.site, roles, [(created.site, "built here"), (step.loops[-1].site, "stepped in this loop")])
            return


def _by_a_function(view: View, created: Event, scheduler: Instance) -> Iterator[Report]:
    """A function that divides what it is asked by the number of epochs, and is asked for each batch."""
    alts = real(scheduler.arg(1, "lr_lambda"))
    text = _written(alts[0]) if len(alts) == 1 and isinstance(alts[0], Func) else ""
    if not _EPOCH.search(text) or _OF_BATCHES.search(text):
        return
    optimizer_steps = [step for step in view.steps() if set(real(step.subject)) & set(real(created.optimizer))]
    for step in view.of("scheduler.step"):
        if real(step.subject) != (scheduler,) or step.args:
            continue
        divides = [end for outer in step.loops[:-1] for end in sorted(_ends(outer)) if _is_divided_by(text, end)]
        if divides:
            yield from _per_batch(view, created, step, divides[0], optimizer_steps)
            return


def _by_shares(view: View, created: Event, scheduler: Instance) -> Iterator[Report]:
    """Marks at a half and three quarters of the epochs, say, that are counted for each batch."""
    name = "milestones" if scheduler.type.endswith(".MultiStepLR") else "step_size"
    written = _written_argument(created, 1, name) if scheduler.type.endswith("StepLR") else None
    if written is None:
        return
    optimizer_steps = [step for step in view.steps() if set(real(step.subject)) & set(real(created.optimizer))]
    for step in view.of("scheduler.step"):
        if real(step.subject) != (scheduler,) or step.args or len(step.loops) < 2 or not _head(step.loops[-1]) or _FEW.search(_head(step.loops[-1])):
            continue
        counted = [end for outer in step.loops[:-1] if not outer.once for end in sorted(_ends(outer)) if re.fullmatch(r"[A-Za-z_][\w.]*", end)]
        shares = [end for end in counted if are_shares(view, created.site.parsed, written, scheduler.arg(1, name), end)]
        if shares:
            yield from _per_batch(view, created, step, shares[0], optimizer_steps, created.site.parsed.text(written))
            return


def _is_divided_by(text: str, length: str) -> bool:
    """Whether something is divided by a number, and not by a multiple of it: `x / args.epochs`, `(x + 1) / (epochs - 1)`."""
    return bool(re.search(rf"/\s*\(?\s*{re.escape(length)}(?![\w.(]|\s*\*)", text))


def _written(function: Func) -> str:
    if function.parsed is not None and function.node is not None:
        return function.parsed.text(function.node)
    return "".join(function.facts.lines[function.unit.start - 1 : function.unit.end]) if function.unit is not None else ""


def _worn_off(view: View, created: Event, scheduler: Instance) -> Iterator[Report]:
    """A rate that falls step by step, and has fallen after so few calls that these can only have been meant as epochs."""
    calls = _calls_until_low(view, scheduler)
    if calls is None or calls > _LOW_WITHIN:
        return
    for step in view.of("scheduler.step"):
        if real(step.subject) != (scheduler,) or step.args or len(step.loops) < 2 or _EPOCH.search(_head(step.loops[-1])):
            continue
        outer, inner = step.loops[-2:]
        optimizer_steps = [other for other in view.steps() if set(real(other.subject)) & set(real(created.optimizer))]
        if outer.once or not _EPOCH.search(_head(outer)) or not _head(inner) or _FEW.search(_head(inner)):
            continue
        asked = {guard for guard in step.guards if not _holds_mostly(guard)}
        if any(other.loops == step.loops and asked <= set(other.guards) for other in optimizer_steps):
            given = [created.site.parsed.text(arg).rstrip(", \n") for arg in created.site.node.args[1:]]
            roles = {"call": view.call_text(step.site), "scheduler": _name(created), "length": ", ".join(given), "unit": "epochs", "each": "batch"}
            related = [(created.site, f"the learning rate is at its lowest, or a thousandth of what it was, after {calls} calls"),
                       (inner.site, "stepped in this loop")]
            yield Report(CODE, step.site, roles, related)
            return


def _holds_mostly(guard: Guard) -> bool:
    """Whether a condition is the rest of one for every so many batches: `if i % 1000 == 0: ... else: scheduler.step()`."""
    return not guard.holds and bool(_NOW_AND_THEN.fullmatch(guard.site.text()))


def _calls_until_low(view: View, scheduler: Instance) -> int | None:
    """After how many calls the rate is a thousandth of what it was, or as low as it ever gets."""
    name = scheduler.type.rsplit(".", 1)[-1]
    if name in _POWERS:
        alts = real(scheduler.arg(1, "lr_lambda"))
        written = _POWERS[name].search(_written(alts[0])) if len(alts) == 1 and isinstance(alts[0], Func) else None
        gamma = float(written["gamma"]) if written is not None and _EPOCH.search(written["counted"]) else None
        return _until_a_thousandth(gamma) if gamma is not None and 0 < gamma < 1 else None
    given = scheduler.arg(1 if name == "ExponentialLR" else 2, "gamma")
    gamma = 0.1 if given is None and name != "ExponentialLR" else number(given)
    if gamma is None or not 0 < gamma < 1:
        return None
    if name == "MultiStepLR":
        marks = real(scheduler.arg(1, "milestones"))
        items = view.run.store.get(marks[0], "[]") if len(marks) == 1 else None
        numbers = [number(item) for item in items.known] if items is not None and not items.open else []
        return int(max(numbers)) if numbers and None not in numbers and max(numbers) <= _LAST_MARK else None
    size = 1 if name == "ExponentialLR" else number(scheduler.arg(1, "step_size"))
    return None if not size or size < 0 else int(size * _until_a_thousandth(gamma))


def _until_a_thousandth(gamma: float) -> int:
    return math.ceil(math.log(1e-3) / math.log(gamma))


def _given(created: Event, scheduler: Instance, position: int, name: str) -> tuple[str, str]:
    """The source of the length as it is written, and with what it was computed from."""
    node = created.site.node
    found = _written_argument(created, position, name)
    text = created.site.parsed.text(found) if found is not None else ""
    words = [text]
    value = scheduler.arg(position, name)
    for alt in real(value) if isinstance(value, Opaque) else ():
        words += [part.site.text() for part in (alt, *alt.parts) if isinstance(part, Opaque) and part.site is not None]
    steps = scheduler.arg(4, "steps_per_epoch") if scheduler.type.endswith("OneCycleLR") else None
    if steps is not None and number(steps) is None:
        words += [
            created.site.parsed.text(arg.value)
            for arg in node.args
            if arg.keyword is not None and arg.keyword.value == "steps_per_epoch"
        ]
        words += [alt.site.text() for alt in real(steps) if isinstance(alt, Opaque) and alt.site is not None]
    return text, " ".join(words)


def _written_argument(created: Event, position: int, name: str) -> cst.BaseExpression | None:
    """An argument of the constructor, as it is written."""
    args = created.site.node.args
    found = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == name]
    found += [arg.value for arg in args[position : position + 1] if arg.keyword is None and not arg.star]
    return found[0] if found else None


def _per_batch(
    view: View, created: Event, step: Event, text: str, optimizer_steps: list[Event], shown: str | None = None
) -> Iterator[Report]:
    """T_max is the number of epochs, and the step comes with each batch."""
    if (
        len(step.loops) < 2
        or not text
        or not any(other.loops == step.loops and set(step.guards) <= set(other.guards) for other in optimizer_steps)
    ):
        return
    for outer in step.loops[:-1]:
        if text in _ends(outer) and _EPOCH.search(_head(outer)):
            roles = {
                "call": view.call_text(step.site),
                "scheduler": _name(created),
                "length": shown or text,
                "unit": "epochs",
                "each": "batch",
            }
            yield Report(
                CODE,
                step.site,
                roles,
                [(created.site, "told how many epochs there are" if shown is None else "told after how many epochs"), (step.loops[-1].site, "stepped in this loop")],
            )
            return


def _per_epoch(
    view: View, created: Event, scheduler: Instance, steps: list[Event], words: str, optimizer_steps: list[Event]
) -> Iterator[Report]:
    """The length counts batches, and the step comes once per epoch."""
    if not _BATCHES.search(words):
        return
    for step in steps:
        outer = step.loops[-1]
        inner = [other for other in optimizer_steps if outer in other.loops and other.loops[-1] is not outer]
        if not inner or any(other.loops[-1] is outer for other in optimizer_steps) or not _EPOCH.search(_head(outer)):
            return
    found = _BATCHES.search(words)
    roles = {
        "call": view.call_text(steps[0].site),
        "scheduler": _name(created),
        "length": found[0],
        "unit": "batches",
        "each": "epoch",
    }
    yield Report(
        CODE,
        steps[0].site,
        roles,
        [(created.site, "told how many batches there are"), (inner[0].loops[-1].site, "the batches are in this loop")],
    )


def _by_lightning(view: View, created: Event, scheduler: Instance, text: str, words: str) -> Iterator[Report]:
    """Lightning steps what `configure_optimizers` gives once per epoch, unless it is told of another interval."""
    facts = created.site.parsed.facts
    if facts.words & _OWN_STEPS or any("interval" in line for line in facts.lines):
        return
    per_epoch = scheduler.arg(4, "steps_per_epoch") if scheduler.type.endswith("OneCycleLR") else None
    length = text
    if per_epoch is not None and number(per_epoch) is None:
        given = [arg.value for arg in created.site.node.args if arg.keyword is not None and arg.keyword.value == "steps_per_epoch"]
        length = created.site.parsed.text(given[0]) if given else "steps_per_epoch"
    elif not length or _EPOCH.search(length) and not _BATCHES.search(length) or not (_BATCHES.search(words) or _STEPS.search(length)):
        return
    roles = {"call": "scheduler.step()", "scheduler": _name(created), "length": length, "unit": "batches", "each": "epoch"}
    handed = [event.site for event in view.of("return") if event.site.parsed is created.site.parsed]
    words = "Lightning steps what it is given here once per epoch; beside `\"interval\": \"step\"` it does so for each batch"
    yield Report(CODE, created.site, roles, [(handed[-1], words)] if handed else [])


def _name(created: Event) -> str:
    return created.subject.name or "scheduler"


def _head(loop: Loop) -> str:
    node = loop.site.node
    return (
        f"{loop.site.parsed.text(node.target)} in {loop.site.parsed.text(node.iter)}"
        if isinstance(node, cst.For)
        else ""
    )


def _ends(loop: Loop) -> set[str]:
    """What a loop over range(...) may be said to count up to."""
    node = loop.site.node
    if not isinstance(node, cst.For):
        return set()
    call = node.iter
    while isinstance(call, cst.Call) and loop.site.parsed.text(call.func).rsplit(".", 1)[-1] not in ("range", "trange"):
        if not call.args:
            return set()
        call = call.args[0].value
    if not isinstance(call, cst.Call) or not call.args:
        return set()
    plain = [arg.value for arg in call.args if arg.keyword is None]
    if not plain:
        return set()
    last = plain[1] if len(plain) > 1 else plain[0]
    text = loop.site.parsed.text(last)
    found = {text}
    if isinstance(last, cst.BinaryOperation) and isinstance(last.operator, cst.Add):
        found.add(loop.site.parsed.text(last.left))
    return found
