"""Whether somebody who is not seen may go backward through what an evaluation's forward gives."""

from __future__ import annotations

import re

from torchlint.dryrun.values import Event, Opaque, Value, from_file, real
from torchlint.rules.base import View
from torchlint.rules.shared.evaluations import LOSS_FUNCTION
from torchlint.rules.shared.held_out import LOSS
from torchlint.rules.shared.looks import is_look
from torchlint.rules.shared.readouts import made_from, only_draws
from torchlint.rules.shared.seen_calls import carries, is_module, made_of, unseen, within

_MAKES = re.compile(
    r"^_*(?:infer|inference|predict|encode|decode|generate|sample|forward|parse|prepare|init|set|get|reset|pre_?process|post_?process"
    r"|unpack|collate|tokeni[sz]e|pad|make|build|create|extract|embed|feed)(?:_|$)"
)
# What such a name goes on with where the method learns, or asks autograd for something: `get_gradients`, `make_adversarial`.
_LEARNS = re.compile(r"train|fit|learn|step|optim|backward|adapt|loss|attack|advers|grad|saliency|explain|cam(?:_|$)", re.I)


def graph_may_be_used(view: View, event: Event) -> bool:
    """Whether the model differentiates in its own forward, or something that cannot be seen may go backward from here: it is
    given the output with its graph, or works in the same loop and is given the model, or is made of it (an attack, a map of
    activations)."""
    loop = event.loops[-1] if event.loops else None
    if loop is not None and _has_model(view, event, loop.over):
        return True
    if differentiates_within(view, event):
        return True
    for other in view.of("unknown", "called"):
        if not unseen(other) or is_criterion(other) or is_look(other) or only_draws(other):
            continue
        if other.kind == "called" and (event.subject in real(other.subject) or _is_out_of_a_file(other.subject)):
            continue
        if other.kind == "unknown" and _is_a_part_out_of_a_file(other):
            continue
        if other.name not in _OF_SCALERS and any(carries(view, value, event) for value in other.args) and not _gives_the_loss(view, other):
            return True
        if loop is None or gets_ready(view, event, other):
            continue  # for one forward that was asked before
        if loop in other.loops and any(_has_model(view, event, value) for value in (other.subject, *other.args)):
            return True
    return False


def differentiates_within(view: View, event: Event) -> bool:
    """Whether a model goes backward in its own forward, or has the package `higher` do so."""
    inner = within(view, [event])
    return any(other.kind in ("backward", "autograd.grad") or other.site is not None and "higher" in other.site.parsed.unit.words for other in inner)


def _gives_the_loss(view: View, other: Event) -> bool:
    """Whether the training goes backward, itself, from what this very call gives it: the call goes backward through nothing."""
    return any(
        part.source == "call" and part.site == other.site
        for step in view.of("backward") for alt in real(step.subject) for part in (alt, *made_from(alt)) if isinstance(part, Opaque)
    )


def _is_out_of_a_file(called: Value | None) -> bool:
    """Whether it is a model that came whole out of a file: it computes with what it is given."""
    alts = real(called)
    return bool(alts) and all(map(from_file, alts))


def _is_a_part_out_of_a_file(other: Event) -> bool:
    """Whether a layer or a method of a model that came whole out of a file is asked, and not to learn, as far as its name tells:
    `decoder.attention(out, h)`, `decoder.decode_step(x, state)`."""
    name = other.get("name") or ""
    learns = _LEARNS.search(name.removesuffix("_step") if _MAKES.search(name) else name)
    return not learns and all(is_module(alt) for alt in real(other.subject)) and _is_out_of_a_file(other.subject)


# What takes data back to the units that they came in; nothing goes backward from there.
_OF_SCALERS = frozenset({"inverse_transform", "denormalize", "unnormalize"})


def gets_ready(view: View, event: Event, other: Event) -> bool:
    """Whether a call is a method of the model itself that only makes something of an input, or gets one ready, as far as its name
    tells: `model.inference(x)`, `model.parse_batch(batch)`, `model.init_hidden(n)`."""
    name = other.get("name") or ""
    if event.subject not in real(other.subject) or not _MAKES.search(name) or _LEARNS.search(name):
        return False
    return not any(_has_model(view, event, value) for value in other.args)


def _has_model(view: View, event: Event, value: Value | None) -> bool:
    return any(
        part is event.subject or is_module(part) and view.related_modules(part, event.subject) for part in made_of(view, value)
    )


def is_criterion(event: Event) -> bool:
    """Whether a call that cannot be seen is one of a loss, as far as its name tells: of an object, or of a function of a file
    that is not there."""
    name = event.name or ""
    return bool(LOSS.search(name)) if event.kind == "called" else bool(LOSS_FUNCTION.search(name))
