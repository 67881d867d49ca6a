"""Whether what a forward gives is asked for its gradient, as far as words tell, or has nothing that a graph could begin at."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.containers import CONTAINERS
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Event, Instance, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import goes_over_held_out
from torchlint.rules.shared.surroundings import read
from torchlint.sieve.facts import Unit

_GRADIENT_WORDS = frozenset(
    "requires_grad_ grad attack saliency retain_grad gradients GradCAM captum jacobian hessian vjp jvp hvp vhp".split()
)
_ADDED_BY_HAND = frozenset({"setattr", "add_module", "register_module", "register_parameter", "Parameter", "ParameterList", "__dict__"})


def has_nothing_to_learn(view: View, module: Value) -> bool:
    """Whether a module has no parameters, such as `nn.Upsample`, or one of the project's that has buffers alone: what builds a graph
    is its input. A class that may get its layers by name or by hand is not looked through."""
    if not isinstance(module, Instance) or module.kind != "module" or module.type in CONTAINERS:
        return False
    if isinstance(module.cls, Class):
        own = (unit for cls in module.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values())
        if not module.complete or any(unit.words & _ADDED_BY_HAND for unit in own):
            return False
    return not view.may_learn(module)


_SWITCHED_ON = re.compile(r"\brequires_grad_\b(?!\((?:requires_grad\s*=\s*)?False\))")
# The first state of a recurrent layer, as tutorials make it: nobody asks for the gradient of these zeros, or `grad` stands there, too.
_FIRST_STATE = re.compile(r"\btorch\.zeros\([^#]*\)\.requires_grad_\(\)")


def gradient_wanted(view: View, event: Event, shown: bool) -> bool:
    """Whether the function has words that tell of gradients, which it may want of this forward."""
    if any(isinstance(alt, Tensor) and alt.traits.get("graph") for value in event.args for alt in real(value)):
        return True
    unit = event.site.parsed.unit
    # A model that learns within its forward: what it is made of is not known, but its name tells.
    inner = not isinstance(event.subject, Instance) and any(word.lower().startswith(("maml", "meta_", "inner_")) for word in unit.words)
    wanted = _GRADIENT_WORDS & unit.words
    if wanted and shown and _only_in_inner_functions(event, wanted):
        return inner  # all that becomes of this output is seen, and it is cut off: they are asked for something else
    if any(step.site.parsed.unit is unit for step in view.of("optimizer.step", "backward")):
        wanted -= {"grad"}  # where there is a training, gradients of parameters are looked at, or are what a step by hand takes
    if "grad" in wanted and _only_shows_gradients(unit, event.site.parsed.facts.lines):
        wanted -= {"grad"}
    lines = (_FIRST_STATE.sub("", line.split("#", 1)[0]) for line in event.site.parsed.facts.lines)
    if "requires_grad_" in wanted and (not any(map(_SWITCHED_ON.search, lines)) or _switched_on_for_others(event)):
        wanted -= {"requires_grad_"}
    return inner or bool(wanted)


_SWITCHES = re.compile(r"([\w.]*\w)?\.requires_grad_\b(?!\((?:requires_grad\s*=\s*)?False\))")


def _switched_on_for_others(event: Event) -> bool:
    """Whether a loop over held-out data has no word of gradients, nor the name of anything that its function switches them on for, but of
    the model itself: the weights that another part thaws, the noise of another step."""
    loop = event.loops[-1].site if event.loops else None
    func = getattr(event.site.node, "func", None)
    if loop is None or func is None or loop.parsed is not event.site.parsed or not goes_over_held_out(event):
        return False
    words = read(loop.node)
    if words & _GRADIENT_WORDS:
        return False
    unit, model = loop.parsed.unit, loop.parsed.text(func)
    lines = (line.split("#", 1)[0] for line in event.site.parsed.facts.lines[unit.start - 1 : unit.end])
    switched = {found[1] for line in lines for found in _SWITCHES.finditer(line)} - {model}
    return all(name is not None and words.isdisjoint(name.split(".")) for name in switched)


def _only_in_inner_functions(event: Event, words: frozenset[str]) -> bool:
    """Whether none of some words stands in the function of a forward itself, but in one that is defined in it."""
    parsed = event.site.parsed
    functions = [node for node in walk(parsed.module) if isinstance(node, cst.FunctionDef)]
    inner = {id(part) for node in functions[1:] for part in walk(node)}
    if id(event.site.node) in inner:
        return False
    outer = (node for node in walk(parsed.module) if id(node) not in inner and isinstance(node, cst.Name))
    return not any(node.value in words for node in outer)


# What goes through the parameters of a model, and the name that it gives each one.
_OVER_PARAMETERS = re.compile(r"\bfor\s+(?:\w+\s*,\s*)?(\w+)\s+in\s+[\w.]+\.(?:named_)?parameters\(")
_GRAD = re.compile(r"(\w+)?(\.)?\bgrad\b(?!\s*(?:=(?!=)|\(|\.\w+_\())")
_TEXTS = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|#.*")


def _only_shows_gradients(unit: Unit, lines: Sequence[str]) -> bool:
    """Whether a function that goes backward through nothing reads the gradients of parameters that a training has left:
    `for name, value in net.named_parameters(): writer.add_histogram(name, value.grad)`."""
    if unit.name == "<module>" or unit.words & {"backward", "autograd"}:
        return False
    text = "\n".join(_TEXTS.sub("''", line) for line in lines[unit.start - 1 : unit.end])
    params = set(_OVER_PARAMETERS.findall(text))
    read = [found for found in _GRAD.finditer(text) if found[2] and found[1] in params]
    return bool(read) and len(read) == len(re.findall(r"\bgrad\b", text))
