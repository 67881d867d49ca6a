"""Layers that a loss is computed with and that no optimizer was given, as they belong to no model."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import MOST, Event, Instance, Ref, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.checkpoints import in_files
from torchlint.rules.shared.frozen import switches

_LEARNS = re.compile(r"^torch\.nn\.(?:\w*Linear|Conv\w+|Embedding\w*|LSTM|GRU|RNN|\w+Cell|MultiheadAttention|Transformer\w*)$")
_DONE_WITH = r"parameters|named_parameters|weight|bias|data|grad|state_dict|load_state_dict|eval|requires_grad_?|copy_|children|modules"
# What is meant to stay as it is.
_STAYS = re.compile(r"teacher|target|ema(?:_|$)|frozen|fixed|rand|pre_?train|percept|noise|prior|refer", re.IGNORECASE)


def left_out(view: View) -> Iterator[tuple[Event, list[Value], Event]]:
    """The last optimizer that was built, what none of them has, and the backward that it is for."""
    created = view.of("optimizer.create")
    made = [event.subject for event in created]
    steps = view.steps()
    if not created or view.of("optimizer.add", "prepare") or not all(map(_is_seen, created)):
        return
    if not steps or not all(any(alt is one for one in made) for step in steps for alt in real(step.subject)):
        return
    held = [module for event in created for module in event.modules]
    if any(view.related_modules(switch.module, module) for switch in switches(view) for module in held):
        return  # what is trained is said by hand: an optimizer of frozen parameters alone is 138's
    backward = next((event for event in view.of("backward") if _trains(view, event, steps, held, created)), None)
    if backward is None:
        return
    inside = {id(child) for children in view.run.children.values() for child in children}
    found: dict[int, Value] = {}
    called = [event for event in backward.flows if event.kind == "forward" and event.get("grad") is not False]
    for module in (event.subject for event in called if not event.get("inside")):  # of a model's own layers 501 tells
        if isinstance(module, Instance) and module.kind == "module" and id(module) not in inside and _learns(view, module):
            if not any(view.related_modules(module, other) for other in held) and _is_left_alone(view, module, backward):
                found[id(module)] = module
    tensors = [tensor for event in created for tensor in event.tensors]
    given = [alt for event in backward.flows for value in event.get("args", ()) for alt in real(value)]
    for part in (*backward.parts, *given):
        if _is_parameter(part) and part not in tensors and _is_left_alone(view, part, backward) and not _is_put_away(view, part):
            found[id(part)] = part
    if found:
        yield created[-1], sorted(found.values(), key=lambda one: one.site.location().row), backward


def _is_seen(event: Event) -> bool:
    """Whether an optimizer is one of torch's, and all that it may have is known."""
    made = event.subject
    known = isinstance(made, Instance) and isinstance(made.cls, Ref) and made.type.startswith("torch.optim.")
    return known and bool(event.get("bound")) and all(isinstance(module, Instance) for module in event.modules)


def _trains(view: View, backward: Event, steps: list[Event], held: list[Value], created: list[Event]) -> bool:
    """Whether a backward is that of a training with these optimizers, and all of its loss is seen."""
    if not backward.loops or len(backward.flows) >= MOST or backward.get("framework") is not None:
        return False
    if any(event.loops for event in created) or not any(backward.loops[0] in step.loops for step in steps):
        return False
    return any(view.related_modules(module, event.subject) for module in held for event in backward.flows if event.subject is not None)


def _learns(view: View, module: Value, depth: int = 0) -> bool:
    """Whether a module has parameters for certain."""
    if not isinstance(module, Instance) or depth > 6:
        return False
    if isinstance(module.cls, Ref) and _LEARNS.match(module.type):
        return True
    if any(_begins_anyhow(alt) for event in view.about("setattr", module) for alt in real(event.get("value"))):
        return True
    return any(_learns(view, child, depth + 1) for child in view.run.children.get(id(module), ()))


def _begins_anyhow(part: Value) -> bool:
    """Whether a value is a Parameter that begins with zeros, with what is drawn, or with what is in memory: to be learned, and no
    constant."""
    if not isinstance(part, Tensor) or not part.traits.get("param") or part.traits.get("graph") is not True:
        return False
    while isinstance(part, Tensor) and "made" not in part.traits:
        part = part.origin
    made = part.traits.get("made") if isinstance(part, Tensor) else None
    if made in ("Tensor", "FloatTensor"):
        node = part.site.node if part.site is not None else None
        return isinstance(node, cst.Call) and len(node.args) > 1  # sizes; one argument may be data
    return made in ("randn", "rand", "empty", "zeros")


def _is_parameter(part: Value) -> bool:
    """Whether a value is `nn.Parameter(...)` itself, under a name."""
    node = part.site.node if isinstance(part, Tensor) and part.site is not None and part.name else None
    return isinstance(node, cst.Call) and bool(part.traits.get("param")) and part.site.parsed.text(node.func).endswith("Parameter")


def _is_put_away(view: View, part: Value) -> bool:
    """Whether a Parameter is in a module or a container: then the module is asked."""
    return "." in part.name or part.name in part.site.parsed.unit.sets or any(alt is part for event in view.of("setattr", "module.put", "append") for alt in real(event.get("value")))


def _is_left_alone(view: View, thing: Value, backward: Event) -> bool:
    """Whether nothing in view frees or loads it, takes its parameters, or may have done so."""
    name = getattr(thing, "name", "")
    if not name or thing.site is None or _STAYS.search(name) or id(thing) in view.run.escaped:
        return False
    if isinstance(thing, Instance) and thing.kwargs.keys() & {"pretrained", "weights"}:
        return False
    node = thing.site.node
    if not isinstance(node, cst.Call) or "copy" in thing.site.parsed.text(node.func):
        return False
    if any(view.related_modules(switch.module, thing) for switch in switches(view)):
        return False
    for event in view.of("load", "module.eval", "state.take", "init", "unknown", "called"):
        given = (event.subject, *event.get("args", ())) if event.kind != "init" else ()
        if any(value is not None and (view.may_hold(value, thing) or view.related_modules(alt, thing)) for value in given for alt in real(value)):
            return False
    return not in_files(view, backward, rf"(?<![\w.]){re.escape(name)}\.(?:{_DONE_WITH})\b")
