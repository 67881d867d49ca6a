"""What tells that a forward only evaluates: what its function is called, and that its output ends as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.sieve.facts import ClassFacts

EVALUATION = re.compile(
    r"(?:^|_)(?:test|tests|testing|eval|evaluate|evaluation|valid|validate|validation|val|vald|predict|prediction|predictions|infer"
    r"|inference|translate|translation|transcribe|recognize|classify|respond|response|reply|caption|sample|samples|generate|decode"
    r"|greedy|demo|interact|accuracy)(?:$|_)|^(?:evaluate|predict|validate|translate|generate|sample|greedy)[A-Z]",
    re.IGNORECASE,
)
_NAMED_SO = re.compile(r"(?:^|_)(?:test|eval|evaluate|evaluation|valid|validate|validation|val|predict|prediction|infer|inference)(?:$|_)", re.I)
_EVALUATION_DATA = re.compile(
    r"(?<![A-Za-z_])(?:test|val|valid|validation|eval|dev)_?(?:loader|data_?loader|dl|iter|iterator|gen|generator|batches|set|dataset|data)(?![A-Za-z_(])",
    re.IGNORECASE,
)
LOSS = re.compile(r"loss|crit", re.I)
LOSS_FUNCTION = re.compile(r"(?:^|[_.])(?:loss|criterion)(?:_?fn|_?func(?:tion)?)?$")
_MOST = 40  # values that are gone back over


def is_evaluation(view: View, event: Event) -> bool:
    """Whether a forward without eval() evaluates all the same, in a function that says so: of a model that is trained here, or
    one of which only the highest output is asked for, which no gradient goes through. Or in a loop that says so, behind the
    training of the same program."""
    model, unit = event.subject, event.site.parsed.unit
    if event.mode is False or any(site.parsed.unit.name == "forward" for site in event.calls if site is not None):
        return False
    if isinstance(model, Instance) and _trained(view, model) and (_goes_over_evaluation_data(event) or _behind_training(view, event)):
        return True
    if not EVALUATION.search(unit.name):
        return False
    if isinstance(model, Instance) and _NAMED_SO.search(unit.name) and _trained(view, model):
        return True
    root = view.run.root
    if root is not None and root.name.startswith("_"):
        return False  # somebody calls it who cannot be seen, and may have switched gradients off
    return _is_called_as_it_stands(event.site) and _is_model(model) and _picked(view, event)


def _goes_over_evaluation_data(event: Event) -> bool:
    """Whether the loop is one over what is called so: `for x, y in test_loader`, `enumerate(tqdm(self.val_dl))`."""
    site = event.loops[-1].site
    if site is None or not isinstance(site.node, cst.For) or site.parsed is not event.site.parsed:
        return False
    return bool(_EVALUATION_DATA.search(site.parsed.text(site.node.iter)))


def _behind_training(view: View, event: Event) -> bool:
    """Whether all training of the run is over, and none of its loops goes around: what is computed now is looked at, and no more."""
    trains = view.of("backward", "optimizer.step", "autograd.grad")
    return bool(trains) and all(other.serial < event.serial and not set(other.loops) & set(event.loops) for other in trains)


def _trained(view: View, model: Value) -> bool:
    return any(flow.kind == "forward" and flow.subject is model for step in view.of("backward") for flow in step.flows)


def _is_model(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper")
    return isinstance(value, Opaque)


def _is_called_as_it_stands(site: Site) -> bool:
    """Whether a function is no part of a model or of a framework's class, which are called under whatever their caller says."""
    unit = site.parsed.unit
    owner = next((cls for cls in site.parsed.facts.all_classes() if unit in cls.methods.values()), None)
    return not unit.decorators and (owner is None or not _bases(owner))


def _bases(owner: ClassFacts) -> list[str]:
    return [base for base in owner.bases if base != "object"]


def _picked(view: View, event: Event) -> bool:
    """Whether the output is asked for no more than which of it is the highest, or leaves torch without its graph."""
    loop = event.loops[-1]
    asked = [(other, alt) for other in view.of("readout") if loop in other.loops for alt in real(other.subject) if comes_from(event, alt)]
    return any(other.name == "argmax" or other.name == "numpy" and _without_graph(alt) for other, alt in asked)


def _without_graph(value: Value) -> bool:
    return isinstance(value, Tensor) and value.traits.get("graph") is False


def _of_several(value: Value | None) -> bool:
    """Whether it is one of several results, such as the indices of `torch.max(x, 1)`, which have no graph."""
    for _ in range(_MOST):
        if not isinstance(value, (Tensor, Opaque)):
            return False
        if value.source == "item":
            return True
        value = value.origin
    return True


def _raises_with_graph(view: View, event: Event) -> bool:
    """Whether the output is made an array as it is, which raises where it has a graph: so somebody else switched gradients off."""
    return any(
        other.name == "numpy" and _among(event, alt.flows) and not _without_graph(alt) and not _of_several(alt) for other in view.of("readout") for alt in real(other.subject)
    )


def read_out(view: View, event: Event) -> bool:
    """Whether the output ends as numbers, in the same loop, and never in a backward."""
    if any(_among(event, other.flows) for other in view.of("backward", "autograd.grad")):
        return False
    trained = [other for other in view.of("backward", "optimizer.step") if event.loops[-1] in other.loops]
    if trained and not _beside_training(view, event, trained) or _raises_with_graph(view, event):
        return False
    kept = _adds_up(view, event) or collects(view, event)
    returned = any(_among(event, other.subject.flows) for other in view.of("return") if other.subject is not None)
    if returned and not (kept and _NAMED_SO.search(event.site.parsed.unit.name)):
        return False
    return kept or any(
        comes_from(event, alt) for other in view.of("readout") if event.loops[-1] in other.loops for alt in real(other.subject)
    )


def _beside_training(view: View, event: Event, trained: list[Event]) -> bool:
    """Whether a loop trains the model in training mode and asks it in evaluation mode, one after the other: where an epoch is
    one batch, a graph, there is no loop of the evaluation's own. A loop that builds its optimizer is one over whole trainings."""
    if any(event.loops[-1] in made.loops for made in view.of("optimizer.create")):
        return False
    backwards = [other for other in trained if other.kind == "backward"]
    return event.mode is False and bool(backwards) and all(
        any(flow.kind == "forward" and flow.subject is event.subject and flow.mode is True for flow in other.flows) for other in backwards
    )


def _among(event: Event, flows: frozenset[Event]) -> bool:
    """Whether a forward is among some, or was in the first pass of its loop, which is forgotten."""
    return event in flows or any(
        flow.subject is event.subject and flow.site == event.site and flow.loops == event.loops and flow.calls == event.calls for flow in flows
    )


def comes_from(event: Event, value: Value) -> bool:
    """Whether a value was computed from the output of a forward, be it that its graph was cut off since."""
    return any(_among(event, part.flows) for part in _with_graphs(value))


def _with_graphs(value: Value) -> Iterator[Value]:
    """A value, and what it was before its graph was cut off."""
    for _ in range(_MOST):
        yield value
        if not isinstance(value, Tensor):
            return
        before = value.traits.get("detached")
        if not isinstance(before, (Tensor, Opaque)):
            return
        value = before


def _sets_its_mode(event: Event) -> bool:
    return event.mode is False and event.mode_site is not None and event.mode_site.parsed is event.site.parsed


def _adds_up(view: View, event: Event) -> bool:
    """Whether an evaluation in evaluation mode adds up the loss with its graph: `val_loss += criterion(...)`."""
    if not _sets_its_mode(event):
        return False
    return any(
        other.operator == "Add" and other.loops and other.loops[-1] is event.loops[-1]
        and all(_is_loss(alt) and event in alt.flows for alt in real(other.value))
        for other in view.of("augment")
    )


def collects(view: View, event: Event) -> bool:
    """Whether an evaluation in evaluation mode keeps each output of its loop, with its graph: `outputs.append(model(x))`."""
    if not _sets_its_mode(event) or not _NAMED_SO.search(event.site.parsed.unit.name):
        return False
    return any(
        other.loops and other.loops[-1] is event.loops[-1] and any(_among(event, alt.flows) for alt in real(other.value)) for other in view.of("append")
    )


def _is_loss(value: Value) -> bool:
    if isinstance(value, Tensor):
        return "loss" in value.traits and value.traits.get("graph") is not False
    return type(value) is Opaque and value.source == "call" and bool(LOSS.search(value.name or ""))
