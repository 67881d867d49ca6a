"""904: the best state is kept by reference while training goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import after
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Dict, Event, Instance, Loop, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, binds, insert_after, insert_before
from torchlint.rules.mends.imports import module_named
from torchlint.rules.shared.blocks import block_of
from torchlint.rules.shared.kept_to_go_back import kept_to_go_back
from torchlint.rules.shared.loaded_back import loaded_back

CODE = 904


def check(view: View) -> Iterator[Report]:
    """`best = model.state_dict()` in the training loop, read again after it."""
    told = set()
    for event in view.of("assign"):
        if not event.loops or not event.guards and isinstance(event.target, cst.Name):
            continue  # taken anew in each turn, it is the last state, whoever goes on changing it
        for value in _with_items(view, event):
            model = _aliased(view, event, value)
            if model is None or not _trains_on(view, event, model):
                continue
            name = event.site.parsed.text(event.target)
            if value is model:
                if not _named_later(view, event, name):
                    continue
            elif _saved_at_once(view, event, value) or not _used_later(view, event, value):
                continue
            model_name = getattr(model, "name", "") or "model"
            if value is not model and value.site is not None:
                text = value.site.text()
                model_name = text.rsplit(".state_dict", 1)[0] if ".state_dict" in text else model_name
                value_text = text
            else:
                value_text = event.site.parsed.text(event.site.node.value)
                model_name = value_text
            roles = {"name": name, "model": model_name, "value": value_text}
            told.add(event.site)
            yield Report(CODE, event.site, roles, mend=_mend(event.site))
    for event, state, back in loaded_back(view):
        if event.site not in told:
            told.add(event.site)
            taken = state.site.text() if state.site is not None else "model.state_dict()"
            roles = {"name": event.site.parsed.text(event.target), "model": taken.rsplit(".state_dict", 1)[0], "value": taken}
            yield Report(CODE, event.site, roles, [(back.site, "it is loaded back here")], mend=_mend(event.site), words=_BACK)
    for event, state, method in kept_to_go_back(view):
        if event.site not in told:
            told.add(event.site)
            taken = state.site.text() if state.site is not None else "model.state_dict()"
            roles = {"name": event.site.parsed.text(event.target), "model": taken.rsplit(".state_dict", 1)[0], "value": taken, "method": method}
            yield Report(CODE, event.site, roles, mend=_mend(event.site), words=_GOES_BACK)


_GOES_BACK = (
    "`{name}` is no copy of `{model}`: training goes on changing it, so that `{method}`, which loads it back, changes nothing",
    "copy it, `copy.deepcopy({value})`",
)
_BACK = (
    "`{name}` is no copy of `{model}`: training goes on changing it, so that loading it back changes nothing",
    "copy it, `copy.deepcopy({value})`",
)


def _with_items(view: View, event: Event) -> Iterator[Value]:
    """What is assigned; of a dict that is written out under a condition, as a best one is, the states in it too."""
    for value in real(event.subject):
        yield value
        if isinstance(value, Dict) and event.guards:
            yield from (alt for item in view.run.known_items(value) for alt in real(item) if isinstance(alt, Opaque) and "state_dict" in alt.tags)


def _mend(site: Site) -> Mend | None:
    """Copies the state where it is taken; not where the live parameters are asked for."""
    call = getattr(site.node, "value", None)
    if not isinstance(site.node, cst.Assign) or not isinstance(call, cst.Call) or call.lpar:
        return None
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value != "state_dict":
        return None
    if any(arg.keyword is not None and arg.keyword.value == "keep_vars" for arg in call.args):
        return None
    name, changes = module_named(site.parsed, "copy")
    if not name or binds(site.parsed, site.node, name):
        return None
    changes = [*changes, insert_before(site, f"{name}.deepcopy(", call), insert_after(site, ")", call)]
    return Mend("copy the state", changes)


def _aliased(view: View, event: Event, value: Value) -> Value | None:
    """The model whose live state a value is."""
    if isinstance(value, Opaque) and "state_dict" in value.tags and value.origin is not None:
        return value.origin
    is_module = isinstance(value, Instance) and value.kind in ("module", "wrapper") or isinstance(value, Opaque) and "module" in value.tags
    named = is_module and event.guards and getattr(value, "site", None) is not None
    if named and "best" in event.site.parsed.text(event.target).lower():
        made = value.site
        return value if made.node is not getattr(event.site.node, "value", None) else None
    return None


def _trains_on(view: View, event: Event, model: Value) -> bool:
    """Whether the loop goes on changing the model after the state was taken."""
    training = _training_loop(view, event)
    for step in view.of("optimizer.step", "unknown", "called", "backward"):
        if training not in step.loops:
            continue
        if step.kind == "optimizer.step":
            modules = view.held_by(step.subject)[0] if len(real(step.subject)) == 1 else ()
            if not modules or any(view.related_modules(m, model) for m in modules):
                return True
        elif step.kind == "unknown":
            name = (step.get("name") or "").lower()
            if "train" in name or "fit" in name or "step" in name:
                return True
    return False


def _training_loop(view: View, event: Event) -> Loop:
    """The outermost loop around an assignment that trains one model: where the models of several folds are made in turn, the one
    inside of the loop over the folds."""
    made = [create.loops for create in view.of("optimizer.create") if create.loops and any(create.subject in real(step.subject) for step in view.steps())]
    return next((loop for loop in event.loops if all(loop not in loops for loops in made)), event.loops[0])


def _carries(value: Value | None, wanted: Value, view: View, depth: int = 0) -> bool:
    for alt in real(value):
        if alt is wanted or isinstance(alt, Opaque) and wanted in alt.parts:
            return True
        if depth < 3 and any(_carries(item, wanted, view, depth + 1) for item in view.run.known_items(alt)):
            return True
    return False


def _saved_at_once(view: View, event: Event, value: Value) -> bool:
    return any(
        _carries(save.subject, value, view) and event.loops[-1] in save.loops and not _comes_without(save, event) for save in view.of("save")
    ) or any(
        "save" in (call.get("name") or "").lower() and event.loops[-1] in call.loops and any(_carries(a, value, view) for a in call.args)
        for call in view.of("unknown")
    )


def _comes_without(save: Event, event: Event) -> bool:
    """Whether a save comes in turns, too, in which what is saved is not taken anew: `if loss < least: state = model.state_dict()`, and a save
    every ten epochs. Of other conditions the contrary may have a state of its own: `if len(parts) > 0: ... else: ...`."""
    return any(guard not in save.guards and _keeps_the_best(guard.site, event) for guard in event.guards)


def _keeps_the_best(asked: Site, event: Event) -> bool:
    """Whether a condition compares with the best so far, which is taken beside a state, or called so."""
    compared = _COMPARED.search(asked.text())
    if compared is None:
        return False
    lines, row = event.site.parsed.facts.lines, event.site.location().row
    given = [name for line in block_of(lines, row) for name in re.findall(r"^\s*([\w.]+)\s*=[^=]", line)]
    return "best" in event.site.parsed.text(event.target).lower() or not set(given).isdisjoint(compared.groups())


_COMPARED = re.compile(r"([\w.]+)\s*[<>]=?\s*([\w.]+)")


def _used_later(view: View, event: Event, value: Value) -> bool:
    """Whether the value is read where training is over, or saved in a later turn of it: loaded back, saved or returned."""
    training = _training_loop(view, event)

    def reads(other: Event) -> bool:
        if training in other.loops and other.kind != "return" and not (other.kind == "save" and _comes_without(other, event)):
            return False
        if other.kind == "load":
            return _carries(other.get("state"), value, view)
        if other.kind in ("save", "return"):
            return _carries(other.subject, value, view)
        return False

    if any(map(reads, view.of("load", "save", "return"))) and after(event, reads)[0]:
        return True
    return _kept_for_later(view, event)


def _kept_for_later(view: View, event: Event) -> bool:
    """Whether the state is kept on self for later: another method of the class loads it, or it is there for who calls."""
    target, root = event.target, view.run.root
    if not isinstance(target, cst.Attribute) or event.site.parsed.text(target.value) != "self" or root is None or root.home is None:
        return False
    name = target.attr.value
    others = [unit for unit in root.home.cf.methods.values() if unit.name != root.name and name in unit.words and unit.name != "__init__"]
    if any("load_state_dict" in unit.words for unit in others):
        return True
    # Called the best and read nowhere in this class: a subclass or the caller takes it when training is over.
    return "best" in name.lower() and not any("save" in word.lower() for unit in others for word in unit.words)


def _named_later(view: View, event: Event, name: str) -> bool:
    """Whether a second name of the model, which is the model itself, is used where training is over."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    training = _training_loop(view, event)
    found, _ = after(
        event, lambda other: training not in other.loops and any(word.search(site.text()) for site in (other.site, *other.calls) if site is not None)
    )
    return bool(found)
