"""132: a method is named as a statement or where its result is kept or shown, or a function of torch's asked in a condition, but not called."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import OPTIMIZER_NAME, SCHEDULER_NAME
from torchlint.dryrun.values import Class, Event, Instance, Method, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, insert_after

CODE = 132

METHODS = {
    "module": frozenset({"eval", "train", "zero_grad", "cuda", "cpu", "half", "float"}),
    "optimizer": frozenset({"step", "zero_grad"}),
    "scheduler": frozenset({"step"}),
    "scaler": frozenset({"update"}),
    "tensor": frozenset({"backward"}),
}
# How what is of no known kind has to be called for such a method to be meant.
NAMED = {
    "eval": re.compile(r"model|net(?:work)?(?:_|$)|module|encoder|decoder", re.IGNORECASE),
    "zero_grad": re.compile(f"{OPTIMIZER_NAME.pattern}|model|net(?:work)?(?:_|$)|module", re.IGNORECASE),
    "step": re.compile(f"{OPTIMIZER_NAME.pattern}|{SCHEDULER_NAME.pattern}", re.IGNORECASE),
    "backward": re.compile("loss", re.IGNORECASE),
}
_TAGS = {
    "eval": {"module"}, "train": {"module"}, "zero_grad": {"module", "optimizer"}, "step": {"optimizer", "scheduler"},
}
_CONTEXTS = ("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.amp.autocast")
# Their step() takes something that has to be given.
_NEEDS_MORE = frozenset({"torch.optim.LBFGS", "torch.optim.lr_scheduler.ReduceLROnPlateau"})
# Methods that keep or show the numbers they are given.
_TELLS = frozenset({
    "append", "format", "write", "info", "debug", "warning", "add_scalar", "add_scalars", "log", "log_dict", "log_metric", "log_metrics",
    "set_postfix",
})
_EXPECTS = re.compile(r"raises|suppress", re.IGNORECASE)
_CATCHES = re.compile(r"AttributeError|TypeError|Exception")


def check(view: View) -> Iterator[Report]:
    """`model.eval` on a line of its own; `with torch.no_grad:`; `"cuda" if torch.cuda.is_available else "cpu"`."""
    for event in view.of("bare"):
        alts = real(event.owner)
        if alts and all(_has_method(view, alt, event) for alt in alts) and not _probes(event.site):
            safe = all(_is_torch(view, alt, event.name) for alt in alts)
            mend = None if any(_needs_more(alt, event.name) for alt in alts) else _called(event.site, safe)
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=mend)
    for event in view.of("enter.uncalled"):
        if event.subject.name in _CONTEXTS and not _probes(event.site):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_called(event.site, True))
    for event in view.of("tested.uncalled"):
        yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_called(event.site, False))
    for event in view.of("method.uncalled"):
        if _is_kept_or_shown(event.site) and not _probes(event.site):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_called(event.site, False))
    for event in view.of("optimizer.create"):
        if _given_a_method(view, event):
            site = Site(event.site.parsed, event.site.node.args[0].value)
            yield Report(CODE, site, {"call": view.call_text(site)}, mend=_called(site, True))


def _given_a_method(view: View, event: Event) -> bool:
    """`SGD(model.parameters, lr=0.1)`: of what is a module, and keeps nothing of its own by that name."""
    node = event.site.node
    given = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    if not isinstance(given, cst.Attribute) or given.attr.value != "parameters":
        return False
    alts = real(event.params)
    return bool(alts) and all(_is_method_of_module(view, alt, event) for alt in alts) and not _probes(event.site)


def _is_method_of_module(view: View, value: Value, event: Event) -> bool:
    if isinstance(value, Method):
        return value.name == "parameters" and isinstance(value.owner, Instance) and value.owner.kind in ("module", "wrapper")
    if type(value) is not Opaque or value.source != "attr" or value.name != "parameters":
        return False
    kept = any(re.search(r"\.parameters\s*=[^=]", line) for line in event.site.parsed.facts.lines)
    return not kept and value.origin is not None and view.is_module(value.origin)


def _is_kept_or_shown(site: Site) -> bool:
    """`losses.append(loss.item)`, `print("loss", loss.item)`, `f"{loss.item:.3f}"`, `wandb.log({"loss": loss.item})`: where a number is
    meant, and nobody calls what stands there."""
    around = site.parsed.around(site.node)
    parent = next(around)
    if isinstance(parent, cst.FormattedStringExpression):
        return True
    call = next(around)
    if isinstance(parent, cst.DictElement):
        parent, call = next(around), next(around)
    if not isinstance(parent, cst.Arg) or not isinstance(call, cst.Call) or parent.star:
        return False
    if isinstance(call.func, cst.Name):
        return call.func.value == "print"
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _TELLS and (call.func.attr.value != "append" or len(call.args) == 1)


def _called(site: Site, safe: bool) -> Mend:
    return Mend("call it: add `()`", [insert_after(site, "()")], safe)


def _has_method(view: View, owner: Value, event: Event) -> bool:
    """Whether that attribute of a value is a method: of one that is not known, if it is used or called as one that has it."""
    name = event.name
    if isinstance(owner, Instance):
        kind = {"wrapper": "module", "loss": "module"}.get(owner.kind, owner.kind)
        return name in METHODS.get(kind, ()) and _is_method(owner, event)
    if not isinstance(owner, Opaque):
        return False
    named = NAMED.get(name)
    return _is_torch(view, owner, name) or named is not None and bool(named.search(owner.name or ""))


def _is_method(owner: Instance, event: Event) -> bool:
    """Whether a class has a plain method of that name: no property, and nothing that was set."""
    if not isinstance(owner.cls, Class):
        return True
    found = owner.cls.method(event.name)
    if found is not None:
        return not found[1].decorators
    bodies = [unit for cls in owner.cls.mro() if isinstance(cls, Class) for unit in cls.cf.body]
    if "?" in owner.cls.externals() or any(event.name in unit.binds for unit in bodies):
        return False
    methods = [unit for cls in owner.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()]
    return not any(event.name in unit.sets for unit in methods)


def _is_torch(view: View, owner: Value, name: str) -> bool:
    """Whether a value is torch's for certain, by what it is or by what else the program does with it."""
    if isinstance(owner, Instance):
        return True
    if isinstance(owner, Tensor) or name == "backward" and owner.flows:
        return name == "backward"
    tags = _TAGS.get(name, frozenset())
    return bool(tags & owner.tags) or name == "eval" and view.is_module(owner)


def _needs_more(owner: Value, name: str) -> bool:
    """Whether a call with nothing in the brackets would raise."""
    if not isinstance(owner, Instance):
        return False
    if not isinstance(owner.cls, Class):
        return name == "step" and owner.type in _NEEDS_MORE
    found = owner.cls.method(name)
    return len(found[1].params) > 1 if found is not None else name == "step" and bool(_NEEDS_MORE & set(owner.cls.externals()))


def _probes(site: Site) -> bool:
    """Whether a statement only looks whether an object has the attribute: a missing one is caught."""
    inner: cst.CSTNode = site.node
    for node in site.parsed.around(site.node):
        if isinstance(node, (cst.Try, cst.TryStar)) and node.body is inner:
            caught = [site.parsed.text(handler.type) if handler.type is not None else "Exception" for handler in node.handlers]
            if any(_CATCHES.search(text) for text in caught):
                return True
        if isinstance(node, cst.With) and any(_EXPECTS.search(site.parsed.text(item.item)) for item in node.items):
            return True
        if isinstance(node, (cst.FunctionDef, cst.Lambda)):
            return False
        inner = node
    return False
