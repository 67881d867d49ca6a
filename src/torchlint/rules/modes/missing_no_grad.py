"""202: an evaluation builds graphs that nothing uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import TRUE, Event, Instance, Loop, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend
from torchlint.rules.mends.rows import enclosed, statement_at
from torchlint.rules.shared.callers import call_of_a_shared_helper
from torchlint.rules.shared.class_around import class_around
from torchlint.rules.shared.cut_at_once import cut_at_once
from torchlint.rules.shared.evaluations import EVALUATION, in_a_program_that_trains_nothing, is_evaluation, said_volatile
from torchlint.rules.shared.frozen import frozen_one_by_one
from torchlint.rules.shared.gradient_wanted import gradient_wanted, has_nothing_to_learn
from torchlint.rules.shared.graph_uses import differentiates_within, graph_may_be_used, is_criterion
from torchlint.rules.shared.graphs_in_vain import before_no_grad, may_be_off
from torchlint.rules.shared.held_out import LOSS
from torchlint.rules.shared.looks import beside_training, comes_to_nothing, keeps_something, only_shown_off
from torchlint.rules.shared.may_train import may_train
from torchlint.rules.shared.readouts import collects, read_out
from torchlint.rules.shared.seen_calls import GRADIENTS, carries, during, unseen
from torchlint.rules.shared.shared_loops import measures_where_another_trains, trains_in_some_turns
from torchlint.rules.shared.single_forwards import answers_with_a_number, predicts_once, shows_what_it_learned
from torchlint.rules.shared.thrown_away import goes_over_data, only_gone_through
from torchlint.sieve.facts import Unit

CODE = 202
CALLS = frozenset({"[]="})
_OF_THE_MODEL = frozenset({"forward", "__call__", "training_step", "validation_step", "test_step", "predict_step"})


def check(view: View) -> Iterator[Report]:
    """An eval-mode forward with grad mode on, whose output is only read out; one for each evaluation."""
    if before_no_grad(view):
        return
    told: dict[Loop | Unit, list[Event]] = {}
    for event in view.of("forward"):
        if event.grad is not True:
            continue
        asked = event.site
        if event.get("inside") or _in_a_model(event):
            asked = asked_from_outside(event) or (event.site if _of_a_program(view, event) else None)
            if asked is not None and asked is not event.site and _learns_through(view, event, asked):
                continue
        if asked is None or has_nothing_to_learn(view, event.subject) or _measures_its_own_output(event) or _is_a_loss_of_outputs(event):
            continue
        evaluates = event.mode is False and event.mode_site is not None
        volatile = said_volatile(view, event)
        shown = shows_what_it_learned(view, event)
        beside = shown or beside_training(view, event) or answers_with_a_number(view, event)
        shares = trains_in_some_turns(view, event)
        by_name = shares or measures_where_another_trains(view, event) or is_evaluation(view, event)
        if not evaluates and volatile is None and not beside and not by_name:
            continue
        if not event.loops and volatile is None and not predicts_once(view, event):
            continue
        cut = cut_at_once(view, event)
        if event.get("frozen") is TRUE or frozen_one_by_one(view, event) or not cut and gradient_wanted(view, event, shown):
            continue
        said = volatile is not None and not _in_the_training(view, event)  # an evaluation, be it that nobody reads what it gives
        seen = said or cut or beside or shares or in_a_program_that_trains_nothing(view, event)
        seen = seen or read_out(view, event) or only_shown_off(view, event) or evaluates and only_gone_through(view, event)
        if not seen and not (evaluates and _goes_over_for_nothing(view, event) or is_evaluation(view, event) and comes_to_nothing(view, event)):
            continue
        if differentiates_within(view, event) if cut else graph_may_be_used(view, event):
            continue
        if may_be_off(view, event):
            continue
        before = told.setdefault(event.loops[-1] if event.loops else event.site.parsed.unit, [])
        if any(_same_evaluation(view, event, other) for other in before):
            continue
        before.append(event)
        if event.loops and evaluates and event.mode_site.parsed is event.site.parsed:
            told.setdefault(event.site.parsed.unit, []).append(event)  # a single one beside the loop is part of what it does
        related = [(event.mode_site, "evaluation mode is set here, but gradients are still on")] if evaluates else []
        if (volatile := volatile or _volatile(event)) is not None:
            related.append((volatile, "`volatile` does nothing since PyTorch 0.4"))
        if asked is not event.site:
            yield Report(CODE, asked, {"call": view.call_text(asked), "model": asked.parsed.text(asked.node.func.value)}, related)
            continue
        site = event.site if beside and _evaluates_alone(view, event) else _own_call(view, event)
        roles = {"call": view.call_text(site), "model": view.owner_text(event, "model")}
        if site is not event.site:
            related = [*related, (event.site, "the model is called here, for several callers")]
        yield Report(CODE, site, roles, related, _mend(view, event))


def _goes_over_for_nothing(view: View, event: Event) -> bool:
    """Whether a model in evaluation mode goes over data, and no tensor is read of what it gives, nor of what it might keep: its forward has
    made lists of its scores itself, as one that ends in a Viterbi search does."""
    return goes_over_data(event) and comes_to_nothing(view, event) and not keeps_something(view, event)


def _measures_its_own_output(event: Event) -> bool:
    """Whether a method that is not seen is given what the model gave: `model.test(scores, y)` may need no parameter."""
    return event.get("method") is not None and any(
        flow.kind == "forward" and flow.subject is event.subject for value in event.args for alt in real(value) for flow in alt.flows
    )


def _is_a_loss_of_outputs(event: Event) -> bool:
    """Whether a loss, by its name, is given what a model gave: it is the model's forward that builds the graph, or does not."""
    named = LOSS.search(getattr(event.subject, "name", None) or "")
    return bool(named) and any(alt.flows for value in event.args for alt in real(value))


def _in_a_model(event: Event) -> bool:
    """Whether the call stands in a method of a model, and that one was called from outside."""
    if not event.calls:
        return False
    owner = class_around(event.site.parsed)
    return owner is not None and any(base.rpartition(".")[2] == "Module" for base in owner.bases)


def _of_a_program(view: View, event: Event) -> bool:
    """Whether the module whose method this is trains itself: then it is a program, and asks its models where it evaluates."""
    if {site.parsed.unit.name for site in (*event.calls, event.site)} & _OF_THE_MODEL:
        return False
    unit = event.site.parsed.unit
    owner = class_around(event.site.parsed)
    return owner is not None and any(
        other.site.parsed.unit in owner.methods.values() and other.site.parsed.unit is not unit for other in view.of("backward")
    )


def _same_evaluation(view: View, event: Event, other: Event) -> bool:
    """Whether of two forwards in a loop the second is part of what the first began: no mode is set between them, nor are they in two
    functions that a loop goes through which trains, and cannot be without gradients: what one that takes the step asks is for the step."""
    if event.site.parsed.unit is not other.site.parsed.unit and event.calls and other.calls and _in_the_training(view, event):
        return _trains(view, event.site.parsed.unit)
    mode = event.mode_site if event.mode is False else None
    before = other.mode_site if other.mode is False else None
    if mode is None or before is None:
        return mode is before
    here = mode.parsed.unit is before.parsed.unit is other.site.parsed.unit
    return mode.node is before.node or here and mode.location().row < other.site.location().row


def _trains(view: View, unit: Unit) -> bool:
    return any(step.site.parsed.unit is unit for step in view.of("backward", "optimizer.step"))


def _own_call(view: View, event: Event) -> Site:
    """The forward; where it stands in a function that others call too, the evaluation's own call of that function, as
    each of its callers has to switch gradients off by itself."""
    by_itself = event.mode is False and event.mode_site is not None
    if not event.loops and by_itself:
        return next((site for site in event.calls if site is not None and site.parsed is event.mode_site.parsed), event.site)
    if not by_itself and (shared := call_of_a_shared_helper(view, event)) is not None:
        return shared
    if event.loops:
        loop = event.loops[-1].site
        if loop is None or loop.parsed is event.site.parsed or by_itself and event.mode_site.parsed is event.site.parsed:
            return event.site  # what it is called for is said where it is called
        mine = next((site for site in event.calls if site is not None and site.parsed is loop.parsed), None)
    else:
        mine = next(iter(event.calls), None)
    if mine is None or mine.parsed.facts is not event.site.parsed.facts:
        return event.site
    between = (*event.calls[event.calls.index(mine) + 1 :], event.site)
    return mine if any(site is not None and _has_several_callers(site) for site in between) else event.site


def _evaluates_alone(view: View, event: Event) -> bool:
    """Whether the function that asks the model is there for this: it is called so, or the training of this run does not go through it."""
    steps = view.of("backward")
    if EVALUATION.search(event.site.parsed.unit.name):
        return True
    return bool(steps) and not any(flow.site == event.site for step in steps for flow in step.flows)


def _has_several_callers(site: Site) -> bool:
    """Whether the function that a call stands in is called more than once in its file."""
    unit, facts = site.parsed.unit, site.parsed.facts
    of_class = any(unit in cls.methods.values() for cls in facts.all_classes())
    called = re.compile(rf"(?<!def )(?<![\w{'' if of_class else '.'}]){re.escape(unit.name)}\(")
    return sum(1 for line in facts.lines if called.search(line.split("#", 1)[0])) > 1


def asked_from_outside(event: Event) -> Site | None:
    """Where a method of a model, `model.encode(x)`, is called that calls its layers; None where its forward does."""
    units = [site.parsed.unit.name for site in (*event.calls, event.site)]
    if not units or any(name in _OF_THE_MODEL for name in units):
        return None
    around = event.loops[-1].site if event.loops else None
    in_loop = [site for site in event.calls if around is not None and site.parsed is around.parsed]
    for site in (*reversed(in_loop), *reversed(event.calls)):
        func = getattr(site.node, "func", None)
        owner = site.parsed.text(func.value) if isinstance(func, cst.Attribute) else ""
        if owner not in ("self", "super()"):
            return site if owner else None
    return None


def _in_the_training(view: View, event: Event) -> bool:
    """Whether a forward shares its loop with a training: a fixed generator whose pictures another model learns from."""
    return any(set(event.loops) & set(step.loops) for step in view.of("backward", "optimizer.step"))


def _learns_through(view: View, event: Event, asked: Site) -> bool:
    """Whether a call of a model's method trains, `model.fit(x)`, or gives what a training goes backward through, be it that this layer of it
    is not among that: `model.pick(x)` scores, takes the highest, and gives its features back."""
    return any(
        asked in step.calls
        or any(flow.kind == "forward" and asked in flow.calls and flow.loops == event.loops and not _in_a_forward(view, flow, asked) for flow in step.flows)
        for step in view.of("backward")
    )


def _in_a_forward(view: View, flow: Event, asked: Site) -> bool:
    """Whether a layer is one of a module that is asked there: what such a module gives comes out of the module itself, too. The layers of
    its first call stand for those of later ones, as a forward is run once; unless it keeps what they give on itself."""
    between = flow.calls[flow.calls.index(asked) + 1 :]
    if not any(site is not None and site.parsed.unit.name == "forward" for site in (*between, flow.site)):
        return False
    return not any(carries(view, other.value, flow) for other in view.of("setattr"))


def _volatile(event: Event) -> Site | None:
    """Where the loop's body says `Variable(x, volatile=True)`, which switched gradients off before torch 0.4."""
    loop = event.loops[-1].site if event.loops else None
    for node in walk(loop.node) if loop is not None else ():
        if isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == "volatile":
            if not (isinstance(node.value, cst.Name) and node.value.value == "False"):
                return Site(loop.parsed, node)
    return None


def _mend(view: View, event: Event) -> Mend | None:
    """Switches gradients off around the loop that evaluates, where all that it does is seen. Of a model or a loss that is
    given by somebody else, or was given away before, not even this is known, that it asks for no gradient within: then it is
    unsafe, as it is where the outputs are kept."""
    loop = event.loops[-1].site if event.loops else None
    if loop is None or loop.parsed.facts is not event.site.parsed.facts:
        return None
    place, row = statement_at(loop), loop.location().row
    names = {local for local, name in loop.parsed.facts.imports.items() if name == "torch"}
    if place is None or not place.alone or place.statement.lineno != row or not names:
        return None
    if any(_is_meant_for(other, loop) for other in view.of("discarded")):
        return None  # 134 enters that one: a second would leave the first where it is
    nodes = list(ast.walk(place.statement))
    gives = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes)
    if gives or not isinstance(place.statement, (ast.For, ast.While)):
        return None
    if view.of("hook") or {node.attr for node in nodes if isinstance(node, ast.Attribute)} & _OF_GRAPHS:
        return None  # a hook runs in each forward, and may go backward
    if may_train(loop.parsed, place.statement):
        return None  # `if train: loss.backward()` in a loop that trains and evaluates
    last = place.statement.end_lineno
    inside = during(view, loop.parsed, row, last)
    if any(other.kind in GRADIENTS or unseen(other) and not is_criterion(other) for other in inside):
        return None
    safe = not any(other.kind == "called" or other.kind == "unknown" and is_criterion(other) for other in inside)
    safe = safe and id(event.subject) not in view.run.escaped and not collects(view, event)
    changes = enclosed(loop.parsed, row, last, f"with {min(names)}.no_grad():")
    return Mend("switch gradients off in this loop", changes, safe) if changes is not None else None


# What is asked of a tensor that has a graph, or of the mode itself.
_OF_GRAPHS = frozenset({"grad", "grad_fn", "is_grad_enabled", "is_leaf", "requires_grad", "set_grad_enabled"})


def _is_meant_for(event: Event, loop: Site) -> bool:
    """Whether an event drops a `torch.no_grad()` that stands before a loop in its block."""
    made = event.subject
    if not (isinstance(made, Instance) and made.type in ("torch.no_grad", "torch.inference_mode")):
        return False
    place, row = statement_at(event.site), loop.location().row
    is_here = place is not None and event.site.parsed.facts is loop.parsed.facts
    return is_here and any(item.lineno <= row <= (item.end_lineno or row) for item in place.rest)
