"""203: a model that came in evaluation mode is trained in it. (An `eval()` that nothing takes back is told by the page's order.)"""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.catalogue.protocols import TASKS_WITH_DROPOUT, WITH_DROPOUT, WITHOUT_DROPOUT, made_by
from torchlint.dryrun.values import Const, Event, Instance, Value, real
from torchlint.rules.base import Report, View

CODE = 203
_WORDS = (
    "`{model}` trains in evaluation mode: `from_pretrained` gives it so, and nothing puts it in training mode",
    "call `{model}.train()` before the loop, and after each evaluation",
)
_OF_A_PART = (
    "`{part}` of `{model}` trains in evaluation mode: `from_pretrained` gives it so, and nothing puts it in training mode",
    "call `{model}.train()` before the loop, and after each evaluation",
)
_HARMLESS = ("save", "eval", "valid", "test", "print", "log", "num_", "count", "summary", "resize", "optim", "sched", "collat", "loader")


def check(view: View) -> Iterator[Report]:
    """`from_pretrained` of a model with dropout, and a loop by hand without `train()`."""
    told: set[int] = set()
    for backward in view.of("backward"):
        for forward in sorted(backward.flows, key=lambda event: event.serial):
            model = forward.subject
            if forward.kind != "forward" or id(model) in told or not forward.loops or not _as_it_came(forward) or not _has_dropout(model):
                continue
            whole = _whole(view, backward, forward) if forward.get("inside") else forward
            if whole is None or _may_be_put(view, whole.subject, forward) or _may_be_put(view, model, forward) or not _trained(view, whole.subject):
                continue
            told.add(id(model))
            related = [(model.site, "it comes in evaluation mode from here")] if model.site is not None else []
            roles = {"model": view.owner_text(whole, "model")}
            if whole is forward:
                yield Report(CODE, forward.site, roles, related, words=_WORDS)
            else:
                yield Report(CODE, whole.site, roles | {"part": view.owner_text(forward, "a part").removeprefix("self.")}, related, words=_OF_A_PART)


def _whole(view: View, backward: Event, forward: Event) -> Event | None:
    """The call of the project's own model in whose forward a part of it is called."""
    if backward.framework is not None:
        return None
    for outer in sorted(backward.flows, key=lambda event: event.serial):
        around = outer.kind == "forward" and not outer.get("inside") and outer.get("method") is None and outer.loops
        if around and isinstance(outer.subject, Instance) and any(part is forward.subject for part in view.run.within(outer.subject)):
            return outer
    return None


def _as_it_came(forward: Event) -> bool:
    """Whether a model runs with gradients in the evaluation mode that its maker gave it."""
    model = forward.subject
    if not isinstance(model, Instance) or forward.mode is not False or forward.mode_site is not None:
        return False
    made = made_by(model.type)
    return made is not None and made.mode is False and forward.get("grad") is True and forward.get("method") is None and not forward.get("frozen")


def _has_dropout(model: Instance) -> bool:
    """Whether the mode matters to a model, by its class, or the name that it is loaded by."""
    given = model.arg(0, "pretrained_model_name_or_path")
    name = given.value if isinstance(given, Const) and isinstance(given.value, str) else ""
    kind = model.type.rpartition(".")[0]
    if not kind.startswith("transformers.") or WITHOUT_DROPOUT.search(name.rpartition("/")[2]):
        return False
    if TASKS_WITH_DROPOUT.search(kind):
        return True
    own = kind.rpartition(".")[2]
    return not WITHOUT_DROPOUT.search(own) and bool(WITH_DROPOUT.search(own) or WITH_DROPOUT.search(name))


def _may_be_put(view: View, model: Instance, forward: Event) -> bool:
    """Whether something that cannot be seen is given the model before: it may call `train()`."""
    for event in view.of("unknown", "called"):
        name = (event.get("name") or "").rpartition(".")[2].lower()
        given = [event.subject, *event.get("args", ())]
        if event.serial < forward.serial and any(view.may_hold(value, model) or _around(value, model) for value in given):
            if not any(word in name for word in _HARMLESS):
                return True
    return False


def _around(value: Value | None, model: Instance) -> bool:
    return any(isinstance(alt, Instance) and alt.kind == "wrapper" and any(inner is model for inner in real(alt.args[0])) for alt in real(value) if getattr(alt, "args", ()))


def _trained(view: View, model: Value) -> bool:
    """Whether an optimizer that steps has the whole model."""
    for optimizer in view.optimizers():
        modules, tensors, complete = view.held_by(optimizer)
        if not tensors and complete and any(module is model or _around(module, model) for module in modules):
            return True
    return False
