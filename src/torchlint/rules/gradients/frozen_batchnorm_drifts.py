"""141: a part of a model is frozen, and its batch norm goes on adapting its statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Instance, Iter, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.called_without_gradients import called_without_gradients, is_pretrained
from torchlint.rules.shared.frozen import Switch, may_be_let_go, switches

CODE = 141
_DEEPEST = 8
_MOST_NAMED = 5
_WITH_NORM = re.compile(r"^torchvision\.models\.(?:\w+\.)*(?:(?:resnet|resnext|wide_resnet|densenet|mobilenet|mnasnet|shufflenet|efficientnet|regnet|googlenet|inception)\w*|vgg\d+_bn)$")
# The parts of a ResNet of torchvision that hold batch norm, by their names.
_RESNET = re.compile(r"^torchvision\.models\.(?:\w+\.)*(?:resnet|resnext|wide_resnet)\d\w*$")
_OF_RESNETS = ("bn1", "layer1", "layer2", "layer3", "layer4")
_HEADS = re.compile(r"^(?:fc|heads?|classifiers?|last_linear|linear|out|output|probe)\d*$")
# Parts of torchvision's models that hold batch norm.
_NORMS = re.compile(r"^(?:[\w.]+\.)?(?:bn|norm|layer|features|stage|denseblock|transition|blocks?|trunk_output)\d*$")
# Another model's copy, which the program moves along: it is no frozen part, whatever it is given to.
_FOLLOWS = re.compile(r"target|teacher|ema|momentum|average|mean|old|prev|key|shadow|ref", re.IGNORECASE)
_OF_PARTS = frozenset({"children", "named_children", "modules", "named_modules"})
# Somebody has thought of it: functions and classes that keep batch norm as it is.
_KNOWS = re.compile(r"freez\w*_?(?:bn|batch_?norm)|(?:bn|batch_?norm)s?_?(?:eval|freez|frozen)|fix_?bn|set_bn|frozenbatchnorm|track_running_stats", re.IGNORECASE)
_KEEPS = re.compile(r"eval|mode|prepare|fix|norm|bn|setup|init", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`requires_grad = False` for a whole module with batch norm, which then runs in training mode with what is trained."""
    made = switches(view)
    told: set[int] = set()
    for switch in made:
        module = switch.module
        if switch.wants is not False or not switch.whole or id(module) in told or not _has_norm(view, module):
            continue
        let_go = None if may_be_let_go(view, module) else _let_go(view, switch, made)
        parts = _stays_frozen(view, module, let_go) if let_go else [_named(view, switch)]
        if let_go is None or not parts or _is_kept_as_it_is(view, module):
            continue
        forward = _trained(view, module, bool(let_go))
        if forward is None or forward.site is None or _thought_of(forward.site) or _thought_of(switch.event.site):
            continue
        told.add(id(module))
        roles = {"model": view.owner_text(forward, "model"), "part": _listed(parts)}
        yield Report(CODE, forward.site, roles, [(switch.event.site, "its parameters are frozen here")])
    yield from _without_gradients(view, made, told)


def _without_gradients(view: View, made: list[Switch], told: set[int]) -> Iterator[Report]:
    """A pretrained model that is called under `no_grad`, in front of one that learns or as a part of it, and that runs in training mode."""
    for event in called_without_gradients(view):
        part = event.subject
        if id(part) in told or not _has_norm(view, part) or not _is_pretrained(view, part) or _FOLLOWS.search(part.name or ""):
            continue
        if _is_kept_as_it_is(view, part) or _may_be_kept(view, part):
            continue
        if any(switch.wants is not False and _related(view, switch.module, part) for switch in made):
            continue
        forward = _calls_and_learns(view, event)
        if forward is None or _thought_of(forward.site) or _thought_of(event.site):
            continue
        told.add(id(part))
        roles = {"model": view.owner_text(forward, "model"), "part": part.name or "a part of it"}
        yield Report(CODE, forward.site, roles, [(event.get("grad_site"), "it is called without gradients here")])


def _is_pretrained(view: View, part: Value, depth: int = 0) -> bool:
    part = _gone_through(part)
    if is_pretrained(part) or depth == _DEEPEST:
        return is_pretrained(part)
    return any(_is_pretrained(view, child, depth + 1) for child in view.run.children.get(id(part), ()))


def _calls_and_learns(view: View, event: Event) -> Event | None:
    """The call of the model that a part is called in, where a backward is for what the model makes of it; or the call itself, where
    another model learns from what it gives."""
    for backward in view.of("backward"):
        if not event.get("inside") and event.loops and _feeds(view, event, backward):
            return event
        for forward in sorted(backward.flows, key=lambda flow: flow.serial):
            if forward.kind != "forward" or forward.get("inside") or forward.site not in event.calls:
                continue
            if forward.grad is True and forward.mode is True:
                return forward
    return None


def _has_norm(view: View, module: Value, depth: int = 0) -> bool:
    module = _gone_through(module)
    if type(module) is Opaque and module.source == "attr" and _is_torchvisions(module.origin):
        return bool(_NORMS.match(module.name))
    if not isinstance(module, Instance) or depth > _DEEPEST:
        return False
    if not isinstance(module.cls, Class) and (module.type.startswith("torch.nn.BatchNorm") or _WITH_NORM.match(module.type)):
        return True
    return any(_has_norm(view, child, depth + 1) for child in view.run.children.get(id(module), ()))


def _is_torchvisions(model: Value | None) -> bool:
    """Whether a model is one of torchvision's with batch norm."""
    return isinstance(model, Instance) and not isinstance(model.cls, Class) and bool(_WITH_NORM.match(model.type))


def _let_go(view: View, switch: Switch, made: list[Switch]) -> list[Switch]:
    """What lets more of a model than a head be trained again, or may: where it is not said what is wanted."""
    found = []
    for other in made:
        if other.wants is not False and _related(view, other.module, switch.module) and not _done_again(view, other, made):
            if not (isinstance(other.module, (Opaque, Instance)) and _HEADS.match(other.module.name) and other.module is not switch.module):
                found.append(other)
    return found


def _stays_frozen(view: View, module: Value, let_go: list[Switch], path: str = "", depth: int = 0) -> list[str]:
    """The parts with batch norm that stay frozen for certain where others are let go again: `bn1` and `layer1` to `layer3`, where
    `model.layer4` is trained."""
    if not isinstance(module, Instance) or depth == _DEEPEST or any(_gone_through(other.module) is module for other in let_go):
        return []
    if not isinstance(module.cls, Class):
        tops = {_part_of(view, other.module, module) for other in let_go if _related(view, other.module, module)}
        known = _RESNET.match(module.type) and None not in tops
        return [path + name for name in _OF_RESNETS if name not in tops] if known else []
    found: list[str] = []
    for child in view.run.children.get(id(module), ()):
        name = getattr(child, "name", "").removeprefix("self.")
        if (id(module), id(child)) in view.run.unsure_children or not name:
            continue
        if any(_related(view, other.module, child) for other in let_go):
            found += _stays_frozen(view, child, let_go, f"{path}{name}.", depth + 1)
        elif _has_norm(view, child):
            found.append(path + name)
    return found


def _listed(parts: list[str]) -> str:
    return ", ".join(parts if len(parts) <= _MOST_NAMED else [*parts[:_MOST_NAMED], "..."])


def _part_of(view: View, part: Value, model: Instance) -> str | None:
    """The name in a model of what a part of it stands in: `layer4`, of `model.layer4[1].conv2`, or `fc`, which a new layer was put in
    place of; None where that is not told."""
    for _ in range(_DEEPEST):
        put = next((event for event in view.of("setattr", "module.put") if event.subject is model and part in real(event.value)), None)
        if put is not None:
            return put.get("name")
        if type(part) is not Opaque or part.source not in ("attr", "item"):
            return None
        if part.origin is model:
            return part.name if part.source == "attr" else None
        part = part.origin
    return None


def _related(view: View, part: Value, module: Value) -> bool:
    """Whether a module is another, a part of it, or one of its `children()`."""
    return view.related_modules(_gone_through(part), module)


def _gone_through(part: Value) -> Value:
    """What a loop takes a part out of, `for part in resnet.children()`; a module itself where it is none."""
    while type(part) is Opaque and isinstance(part.origin, Iter) and part.origin.kind in _OF_PARTS:
        part = part.origin.base
    return part


def _done_again(view: View, switch: Switch, made: list[Switch]) -> bool:
    """Whether the same line freezes later what it let go: `encoder.fine_tune(False)`, where `__init__` has called `self.fine_tune()`.
    (Not where a loop that trains lets go and freezes by turns, nor where that stands under a condition.)"""
    training = {id(loop) for backward in view.of("backward") for loop in backward.loops}
    again = [other for other in made if other.event.site == switch.event.site and other.event.serial > switch.event.serial]
    if not again or again[-1].wants is not False or not set(again[-1].event.guards) <= set(switch.event.guards):
        return False
    return not any(id(loop) in training for other in (switch, *again) for loop in other.event.loops)


def _is_kept_as_it_is(view: View, module: Value) -> bool:
    """Whether the part, or something in it, is put in evaluation mode by itself; or its class has a `train` of its own."""
    events = view.of("module.eval", "module.mode")
    own = {event.site for event in events if event.subject is module}
    for event in events:
        subject = event.subject
        if event.site in own and subject is not module and _whole_model(view, subject) and _has_norm(view, subject):
            continue  # another model that may stand under the name, with the same head: of this one its own event tells
        if subject is None or not view.related_modules(subject, module):
            if isinstance(subject, Opaque) and subject.source == "item":
                return True  # one of `model.modules()`
            continue
        if subject is module and _whole_model(view, module) or id(module) in view.closure(subject) and subject is not module:
            continue  # an evaluation of all of it, from which `train()` leads back
        return True
    return any(
        isinstance(owner, Instance) and isinstance(owner.cls, Class) and owner.cls.method("train") is not None
        for event in view.of("forward") for owner in (event.subject,) if owner is not None and view.related_modules(owner, module)
    )


def _may_be_kept(view: View, part: Value) -> bool:
    """Whether a call that is not seen gets a part, and may by its name put it in evaluation mode or let it go."""
    if may_be_let_go(view, part):
        return True
    named = [event for event in view.of("unknown", "called") if _KEEPS.search(event.get("name") or "")]
    return any(view.related_modules(alt, part) for event in named for value in event.get("args", ()) for alt in real(value))


def _whole_model(view: View, module: Value | None) -> bool:
    return any(event.subject is module and not event.get("inside") for event in view.of("forward"))


def _trained(view: View, module: Value, in_part: bool) -> Event | None:
    """The call of a model, with the module in it, that a backward is for: in training mode, as is the module. `in_part`: some of the
    module learns."""
    forwards = [*view.of("forward"), *(event for backward in view.of("backward") for event in backward.flows if event.kind == "forward")]
    if not any(event.grad is True and event.mode is True and _runs_a_norm_of(view, event, module) for event in forwards):
        return None
    for backward in view.of("backward"):
        for event in sorted(backward.flows, key=lambda event: event.serial):
            if event.kind != "forward" or event.get("inside") or event.subject is None or event.mode is not True:
                continue
            if event.subject is module and not in_part and not _gets_a_head(view, module) and not _feeds(view, event, backward):
                continue
            if view.related_modules(event.subject, module):
                return event
    return None


def _feeds(view: View, event: Event, backward: Event) -> bool:
    """Whether what a frozen model gives is what another one learns from: `head(backbone(x))`."""
    if _FOLLOWS.search(getattr(event.subject, "name", "") or ""):
        return False
    frozen = [switch.module for switch in switches(view)]
    return any(
        other.kind == "forward" and not other.get("inside") and other.get("args") and event in other.args[0].flows and isinstance(other.subject, Instance)
        and view.may_learn(other.subject) and not any(view.related_modules(other.subject, module) for module in (event.subject, *frozen))
        for other in backward.flows
    )


def _runs_a_norm_of(view: View, event: Event, module: Value) -> bool:
    """Whether a call is one of the module, or of a part with batch norm: `self.backbone.layer1(x)`."""
    part = event.subject
    if part is module:
        return True
    if id(part) not in view.closure(module) and id(module) not in view.origins(part):
        return False
    return bool(_NORMS.match(part.name)) if _is_torchvisions(part) else _has_norm(view, part)


def _gets_a_head(view: View, module: Value) -> bool:
    """Whether a model that is frozen as a whole gets a new layer, which is what learns."""
    return any(event.subject is not None and view.related_modules(event.subject, module) and isinstance(event.value, Instance)
               for event in view.of("setattr", "module.put") if event.site is not None and event.site.parsed.unit.name != "__init__")


def _thought_of(site: Site | None) -> bool:
    return site is not None and any(_KNOWS.search(word) for word in site.parsed.facts.words)


def _named(view: View, switch: Switch) -> str:
    name = getattr(switch.module, "name", "")
    return name or "a part of it"
