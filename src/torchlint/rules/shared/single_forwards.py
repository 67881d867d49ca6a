"""Whether a forward outside of any loop evaluates: a look at the test data behind the training, an answer to one picture."""

from __future__ import annotations

from torchlint.dryrun.values import Event, Instance, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.class_around import class_around
from torchlint.rules.shared.evaluations import EVALUATION, is_evaluation
from torchlint.rules.shared.graph_uses import gets_ready
from torchlint.rules.shared.held_out import given_held_out, measures, trained
from torchlint.rules.shared.learned import has_learned, in_an_optimizer, is_handed, learned_as_written, learned_here, learns_by_itself
from torchlint.rules.shared.looks import is_cut_by_hand, only_looked_at
from torchlint.rules.shared.readouts import comes_from, raises_with_graph
from torchlint.rules.shared.seen_calls import carries, made_of, unseen

# What looks through a model, or takes it somewhere else: the forward beside it is there to compare with.
_OF_TOOLS = frozenset(
    """onnx onnxruntime tensorrt make_dot jit trace script export profile profiler benchmark warmup register_backward_hook
    register_full_backward_hook register_full_backward_pre_hook""".split()
)
# Where something is drawn, noise and a range of numbers are what one wants to see the output for: samples, a curve.
_DRAWS = frozenset(
    """imshow imsave matshow plot scatter contourf plot_surface savefig save_image make_grid add_image add_images fromarray to_pil_image
    ToPILImage imwrite mimsave mimwrite vutils""".split()
)
# Given the model, these neither train it nor keep a graph.
_TAKES_NO_GRAPH = frozenset("print save summary len isinstance type format info load_state_dict load_model load_checkpoint export".split())


def predicts_once(view: View, event: Event) -> bool:
    """Whether a forward without a loop is one that evaluates, and has something to evaluate: in evaluation mode, in a function that
    is called so or on data that are, of a model that has learned."""
    unit = event.site.parsed.unit
    tools = _OF_TOOLS - {"benchmark"} if "cudnn" in unit.words else _OF_TOOLS  # `cudnn.benchmark = True` looks at no model
    if unit.words & tools and not measures(view, event):
        return False
    learned = has_learned(view, event.subject) or learned_as_written(view, event) or learns_by_itself(event)
    if not learned or _on_made_up_data(view, event) and not _draws(event):
        return False
    if event.mode is not False and not _is_meant_to(view, event):
        return False
    if any(carries(view, other.value, event) for other in view.of("setattr", "append", "module.put")):
        return False
    learns = {flow for step in view.of("backward") for flow in step.flows}
    later = [
        other for other in view.of("forward")
        if other.serial > event.serial and other.loops and other.site.parsed.unit is unit and other not in learns and other.grad is not False
    ]
    if any(other.mode_site is event.mode_site and _goes_on_with(event, other) for other in later):
        return False  # it begins what a loop goes on with, which is told there
    return not _works_with_the_model(view, event)


def _goes_on_with(event: Event, other: Event) -> bool:
    """Whether a later forward is part of what one began. In the body of a file, which does one thing after the other, it has to be given
    what came out: a look at one batch is over when the whole data are gone through."""
    return event.site.parsed.unit.name != "<module>" or any(comes_from(event, alt) for value in other.args for alt in real(value))


def _is_meant_to(view: View, event: Event) -> bool:
    """Whether a forward in no known mode is said to evaluate, of a model that is seen to have learned: others may be called under
    whatever their caller says. (Not those that this run trains.)"""
    model = event.subject
    if is_handed(model) and not trained(view, model):
        held_out = given_held_out(event)
        return (held_out or _draws(event)) and is_cut_by_hand(view, event) or held_out and is_evaluation(view, event)
    if answers_with_a_number(view, event):
        return True
    learned = isinstance(model, Instance) and (learned_here(view, model) or learned_as_written(view, event)) or trained(view, model)
    learned = learned or learns_by_itself(event)
    named = bool(EVALUATION.search(event.site.parsed.unit.name)) or given_held_out(event)
    return learned and (named or is_cut_by_hand(view, event))


def shows_what_it_learned(view: View, event: Event) -> bool:
    """Whether the graph is taken off by hand, for somebody to look at: of a single forward, or in a loop that trains nothing, of a
    model that is seen to have learned."""
    if not event.loops:
        return is_cut_by_hand(view, event)
    if any(event.loops[-1] in step.loops for step in view.of("backward", "optimizer.step")):
        return False
    model = event.subject
    learned = isinstance(model, Instance) and (learned_here(view, model) or learned_as_written(view, event)) or is_handed(model) and _draws(event)
    return learned and is_cut_by_hand(view, event)


def answers_with_a_number(view: View, event: Event) -> bool:
    """Whether a function that nobody calls here asks what an optimizer has, and gives whoever calls it a number: the action that scores
    highest, an accuracy."""
    root, unit = view.run.root, event.site.parsed.unit
    if event.calls or root is None or root.unit is not unit or unit.name.startswith("_") or unit.decorators:
        return False
    if not unit.words & {"item", "tolist"} or view.of("backward", "optimizer.step") or not _is_called_by_the_program(event):
        return False
    gives = any(not other.calls for other in view.of("return"))
    model = event.subject
    if not gives or not isinstance(model, Instance) or not (in_an_optimizer(view, model) or learned_as_written(view, event)):
        return False
    numbers = any(other.name in _PICKS and any(comes_from(event, alt) for alt in real(other.subject)) for other in view.of("readout"))
    return numbers and not raises_with_graph(view, event) and only_looked_at(view, event)


_PICKS = frozenset({"item", "tolist", "argmax", "indices", "comparison"})
_PLAIN_BASES = frozenset({"object", "Module", "ABC"})


def _is_called_by_the_program(event: Event) -> bool:
    """Whether a method is one that no framework calls, nor a module's own forward."""
    unit = event.site.parsed.unit
    owner = class_around(event.site.parsed)
    if owner is None:
        return True
    return unit.name not in ("forward", "__call__") and {base.rpartition(".")[2] for base in owner.bases} <= _PLAIN_BASES


def _on_made_up_data(view: View, event: Event) -> bool:
    """Whether a model that is not trained here is asked about zeros or noise: a try whether it runs."""
    learns = trained(view, event.subject) or in_an_optimizer(view, event.subject)
    return not learns and bool(event.args) and all(_made_up(alt) for value in event.args for alt in real(value))


def _draws(event: Event) -> bool:
    """Whether the function that asks the model draws something, or makes pictures."""
    return bool(event.site.parsed.unit.words & _DRAWS)


_FILLERS = frozenset("rand randn randint rand_like randn_like normal zeros zeros_like ones ones_like full empty arange linspace".split())


def _made_up(value: Value) -> bool:
    while isinstance(value, Tensor) and "made" not in value.traits:
        value = value.origin
    return isinstance(value, Tensor) and value.traits["made"] in _FILLERS


def _works_with_the_model(view: View, event: Event) -> bool:
    """Whether something that cannot be seen is given the model in the same function: it may differentiate what comes out."""
    for other in view.of("unknown", "called"):
        if other.site is None or other.site.parsed.unit is not event.site.parsed.unit or not unseen(other):
            continue
        if other.kind == "called" and event.subject in real(other.subject):
            continue
        if (other.get("name") or "").rpartition(".")[2] in _TAKES_NO_GRAPH or gets_ready(view, event, other):
            continue
        if any(part is event.subject for value in (other.subject, *other.args) for part in made_of(view, value)):
            return True
    return False
