"""203: a model that came in evaluation mode is trained in it. (An `eval()` that nothing takes back is told by the page's order.)"""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.catalogue.protocols import TASKS_WITH_DROPOUT, WITH_DROPOUT, WITHOUT_DROPOUT, made_by
from torchlint.dryrun.values import Const, Event, Instance, Value, real
from torchlint.rules.base import Report, View

CODE = 203
_HARMLESS = ("save", "eval", "valid", "test", "print", "log", "num_", "count", "summary", "resize", "optim", "sched", "collat", "loader")


def check(view: View) -> Iterator[Report]:
    """`from_pretrained` of a model with dropout, and a loop by hand without `train()`."""
    told: set[int] = set()
    for backward in view.of("backward"):
        for forward in sorted(backward.flows, key=lambda event: event.serial):
            model = forward.subject
            if forward.kind != "forward" or id(model) in told or not forward.loops or not _comes_untrained(forward) or not _has_dropout(model):
                continue
            behind = None if _as_it_came(forward) else _put_behind(view, forward)
            if not _as_it_came(forward) and behind is None:
                continue
            whole = _whole(view, backward, forward) if forward.get("inside") else forward
            if whole is None or _may_be_put(view, whole.subject, forward) or _may_be_put(view, model, forward) or not _trained(view, whole.subject):
                continue
            told.add(id(model))
            related = [(model.site, "it comes in evaluation mode from here")] if model.site is not None else []
            roles = {"model": view.owner_text(whole, "model")}
            if whole is not forward:
                roles["part"] = view.owner_text(forward, "a part").removeprefix("self.")
            if behind is not None:
                related.append((behind.site, "this comes behind the training of the first epoch"))
            yield Report(CODE, whole.site, roles, related, words=_words("`{part}` of `{model}`" if "part" in roles else "`{model}`", behind))


def _words(what: str, behind: Event | None) -> tuple[str, str]:
    """The message and the help for what trains so: always, or before something puts it in training mode."""
    if behind is None:
        return (
            f"{what} trains in evaluation mode: `from_pretrained` gives it so, and nothing puts it in training mode",
            "call `{model}.train()` before the loop, and after each evaluation",
        )
    return (
        f"{what} trains in evaluation mode in the first epoch: `from_pretrained` gives it so, and `train()` is first called at its end",
        "call `{model}.train()` at the start of each epoch",
    )


def _whole(view: View, backward: Event, forward: Event) -> Event | None:
    """The call of the project's own model in whose forward a part of it is called."""
    if backward.framework is not None:
        return None
    for outer in sorted(backward.flows, key=lambda event: event.serial):
        around = outer.kind == "forward" and not outer.get("inside") and outer.get("method") is None and outer.loops
        if around and isinstance(outer.subject, Instance) and any(part is forward.subject for part in view.run.within(outer.subject)):
            return outer
    return None


def _comes_untrained(forward: Event) -> bool:
    """Whether a model runs with gradients that its maker gave in evaluation mode."""
    model = forward.subject
    made = made_by(model.type) if isinstance(model, Instance) else None
    return made is not None and made.mode is False and forward.get("grad") is True and forward.get("method") is None and not forward.get("frozen")


def _as_it_came(forward: Event) -> bool:
    """Whether it is in the mode that its maker gave it, whenever it runs."""
    return forward.mode is False and forward.mode_site is None


def _put_behind(view: View, forward: Event) -> Event | None:
    """The first `train()` of a model, where it stands behind the training in the body of the epochs: the first of them goes without."""
    if forward.mode is not None:
        return None
    puts = [event for event in view.of("module.train") if not _is_another(view, event.subject, forward.subject)]
    first = min(puts, key=lambda event: event.serial, default=None)
    if first is None or first.serial < forward.serial or not isinstance(first.subject, Instance):
        return None
    around = len(first.loops)
    return first if 0 < around < len(forward.loops) and first.loops == forward.loops[:around] else None


def _is_another(view: View, put: Value | None, model: Instance) -> bool:
    """Whether what is put in training mode is for certain neither a model nor what it is a part of."""
    alts = real(put)
    return bool(alts) and all(
        isinstance(alt, Instance) and alt is not model and not _around(alt, model) and all(part is not model for part in view.run.within(alt))
        for alt in alts
    )


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
