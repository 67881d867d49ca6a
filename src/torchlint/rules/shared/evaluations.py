"""What tells that a forward only evaluates: what its function, its loop or its data are called, and where it stands."""

from __future__ import annotations

import re

from torchlint.catalogue.vocabulary import NAMED_AS_EVALUATION
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Tensor, real
from torchlint.rules.base import View
from torchlint.rules.shared.class_around import class_around
from torchlint.rules.shared.held_out import given_held_out, goes_over_held_out, is_model, measures, trained
from torchlint.rules.shared.learned import in_an_optimizer, is_from_a_file, learned_as_written
from torchlint.rules.shared.looks import only_looked_at
from torchlint.rules.shared.readouts import behind, comes_from, drawn_from, is_loss_of, kept_as_numbers, without_graph
from torchlint.rules.shared.seen_calls import made_of
from torchlint.sieve.facts import ClassFacts, FileFacts

EVALUATION = re.compile(
    r"(?:^|_)(?:test|tests|testing|eval|evaluate|evaluation|valid|validate|validation|val|vald|predict|prediction|predictions|infer"
    r"|inference|translate|translation|transcribe|recognize|classify|respond|response|reply|caption|sample|samples|generate|decode"
    r"|greedy|demo|interact|accuracy|metrics)(?:$|_)|^(?:evaluate|predict|validate|translate|generate|sample|greedy)[A-Z]"
    r"|(?-i:^(?:test|eval)[A-Z])"
    r"|(?-i:[a-z0-9](?:Test|Eval|Evaluate|Evaluation|Valid|Validate|Validation|Predict|Infer|Inference)(?=$|[A-Z_]))",
    re.IGNORECASE,
)
_TRAINS = frozenset({"backward", "fit", "train_step", "Trainer", "autograd", "finetune", "fine_tune"})
LOSS_FUNCTION = re.compile(r"(?:^|[_.])(?:loss|criterion)(?:_?fn|_?func(?:tion)?)?$")


def is_evaluation(view: View, event: Event) -> bool:
    """Whether a forward without eval() evaluates all the same, in a function that says so: of a model that is trained here, or
    one of which only the highest output is asked for, which no gradient goes through. Or in a loop that says so, behind the
    training of the same program, or of data that says so."""
    model, unit = event.subject, event.site.parsed.unit
    if event.mode is False or any(site.parsed.unit.name == "forward" for site in (*event.calls, event.site) if site is not None):
        return False
    looked_at = measures(view, event) or is_model(model) and _behind_training(view, event)
    looked_at = looked_at or _is_the_end_of_a_script(view, event) or in_a_program_that_trains_nothing(view, event)
    if looked_at and not _trains_too(view, event):
        return True
    if not looked_at and _asks_by_a_helper(view, event) and not _trains_too(view, event):
        return True
    if not EVALUATION.search(unit.name) and not goes_over_held_out(event):
        return False
    if isinstance(model, Instance) and NAMED_AS_EVALUATION.search(unit.name) and trained(view, model):
        return True
    if _is_called_as_it_stands(event.site) and learned_as_written(view, event):
        return True
    root = view.run.root
    if root is not None and root.name.startswith("_"):
        return False  # somebody calls it who cannot be seen, and may have switched gradients off
    # What comes from a file that is not there is a function more often than a model.
    from_elsewhere = type(model) is Opaque and model.source == "global"
    if not _is_called_as_it_stands(event.site) or not is_model(model) or from_elsewhere:
        return False
    return _picked(view, event) or _sums_up_a_loss(view, event)


def _sums_up_a_loss(view: View, event: Event) -> bool:
    """Whether an evaluation adds up a loss with its graph, and makes a number of the sum: `total += criterion(model(x), y)`, and behind the
    loop `total.item()`."""
    if not NAMED_AS_EVALUATION.search(event.site.parsed.unit.name):
        return False
    return any(other.operator == "Add" and is_loss_of(event, other) for other in view.of("augment")) and only_looked_at(view, event)


def _asks_by_a_helper(view: View, event: Event) -> bool:
    """Whether a loop of a function that says so asks a model, which an optimizer has, by a function of the same file that trains, too:
    `def validate(self, loader)` and in its loop `self.one_batch(x, y)`."""
    loop = event.loops[-1].site if event.loops else None
    model = event.subject
    if loop is None or loop.parsed.unit is event.site.parsed.unit or loop.parsed.facts is not event.site.parsed.facts:
        return False
    if not NAMED_AS_EVALUATION.search(loop.parsed.unit.name):
        return False
    stands = all(_is_called_as_it_stands(site) for site in (loop, event.site))
    return stands and isinstance(model, Instance) and (trained(view, model) or in_an_optimizer(view, model))


def said_volatile(view: View, event: Event) -> Site | None:
    """Where an input was made by `Variable(x, volatile=True)`: the word for an evaluation before PyTorch 0.4."""
    marked = {id(alt): other.site for other in view.of("volatile") if other.serial < event.serial for alt in real(other.subject)}
    learned = (value for step in view.of("backward") for flow in step.flows for value in flow.get("args", ()))
    if not marked or any(id(alt) in marked for value in learned for alt in real(value)):
        return None
    for value in event.args:
        for part in made_of(view, value):
            while part is not None:
                if id(part) in marked:
                    return marked[id(part)]
                part = part.origin if isinstance(part, (Tensor, Opaque)) else None
    return None


def _is_the_end_of_a_script(view: View, event: Event) -> bool:
    """Whether the body of a file has trained, and asks another model, with weights out of a file, about held-out data or in a loop:
    nobody around it can have switched gradients off. Or it goes over such data with what its optimizer has, whatever the training
    makes of it, or with weights out of a file."""
    model = event.subject
    if view.run.root is not None or not isinstance(model, Instance):
        return False
    held = goes_over_held_out(event) or given_held_out(event)
    learned = held and event.loops and (in_an_optimizer(view, model) or is_from_a_file(view, model))
    if learned and not any(event.loops[-1] in step.loops for step in view.of("backward", "optimizer.step")):
        return True
    asked = held or bool(event.loops)
    return asked and _behind(view, event) and any(model is load.subject for load in view.of("load") if load.serial < event.serial)


def in_a_program_that_trains_nothing(view: View, event: Event) -> bool:
    """Whether the body of a file goes over data with a model out of a file, and trains nothing, be it by a trainer that is not seen."""
    if view.run.root is not None or not event.loops or view.of("backward", "optimizer.step", "optimizer.create", "autograd.grad"):
        return False
    return is_from_a_file(view, event.subject) and not event.site.parsed.facts.words & _TRAINS


def _trains_too(view: View, event: Event) -> bool:
    """Whether the same loop over the same forward trains, where it is called by somebody else: a scan, a rollout."""
    loop = event.loops[-1].site if event.loops else None
    return loop is not None and any(
        flow.site == event.site and flow.loops and flow.loops[-1] is not event.loops[-1] and flow.loops[-1].site == loop
        for step in view.of("backward") for flow in step.flows
    )


def _behind_training(view: View, event: Event) -> bool:
    """Whether all training of the run is over, and none of its loops goes around: what is computed now is looked at, and no more."""
    return trained(view, event.subject) and _behind(view, event)


def _behind(view: View, event: Event) -> bool:
    trains = view.of("backward", "optimizer.step", "autograd.grad")
    return bool(trains) and all(other.serial < event.serial and not set(other.loops) & set(event.loops) for other in trains)


def _is_called_as_it_stands(site: Site) -> bool:
    """Whether a function is no part of a model or of a framework's class, which are called under whatever their caller says."""
    unit = site.parsed.unit
    owner = class_around(site.parsed)
    return _PLAIN.issuperset(unit.decorators) and (owner is None or _is_plain(owner, site.parsed.facts, unit.name))


_PLAIN = frozenset({"staticmethod", "classmethod"})


def _is_plain(owner: ClassFacts, facts: FileFacts, method: str, depth: int = 0) -> bool:
    """Whether a class has no base, or such of the same file that know nothing of a method, so that none calls it."""
    for base in owner.bases:
        above = facts.classes.get(base)
        if base == "object":
            continue
        if above is None or above is owner or depth > _HIGHEST or any(method in unit.words for unit in above.methods.values()):
            return False
        if not _is_plain(above, facts, method, depth + 1):
            return False
    return True


_HIGHEST = 4


def _picked(view: View, event: Event) -> bool:
    """Whether the output is asked for no more than which of it is the highest, or leaves torch without its graph."""
    asked = [(other, alt) for other in view.of("readout") if behind(event, other) for alt in real(other.subject) if comes_from(event, alt)]
    if any(other.name in ("argmax", "indices") or other.name == "numpy" and without_graph(alt) for other, alt in asked):
        return True
    return drawn_from(view, event) or kept_as_numbers(view, event)
