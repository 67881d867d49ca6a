"""201: a model that is trained here is evaluated in training mode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.containers import CONTAINERS
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.callers import call_of_a_shared_helper
from torchlint.rules.shared.families import in_training_by_its_family
from torchlint.rules.shared.held_out import goes_over_held_out, measures, trained
from torchlint.rules.shared.learned import in_an_optimizer, is_from_a_file
from torchlint.rules.shared.measured import is_judged_once, is_measured
from torchlint.rules.shared.readouts import adds_up, comes_from, read_out
from torchlint.rules.shared.single_choices import chooses_for_one
from torchlint.rules.shared.thrown_away import thrown_away

CODE = 201
_MODE_LAYER = re.compile(r"(?:Alpha|Feature)?Dropout|dropout|(?:Sync|Lazy)?BatchNorm|batch_norm")


def check(view: View) -> Iterator[Report]:
    """A forward in an evaluation loop, in training mode for certain."""
    reported: set[int] = set()
    for event in view.of("forward"):
        model = event.subject
        within = _put_in_it_within(view, event) if event.mode is None else None
        trains = event.mode is True or within is not None or in_training_by_its_family(view, model)
        if not trains or id(model) in reported or not _evaluates(view, event):
            continue
        if not event.loops and not is_measured(view, event) and not is_judged_once(view, event):
            continue
        if not _matters(view, model) or _inner(view, event) or _sampling(event):
            continue
        if not _trained(view, model) and not _loaded_to_be_tested(view, event):
            continue
        if _on_purpose(view, event) or thrown_away(event):
            continue
        reported.add(id(model))
        related = [(event.mode_site, "training mode was set here")] if event.mode_site is not None else []
        if within is not None:
            related = [(within.site, "training mode is set here, in the loop that evaluates: from the second batch on it is in it")]
        if event.grad is False and event.grad_site is not None:
            related.append((event.grad_site, "an evaluation: gradients are off"))
        site = call_of_a_shared_helper(view, event) or event.site
        if site is not event.site:
            related.append((event.site, "the model is called here, for the training as well"))
        yield Report(CODE, site, {"model": view.owner_text(event, "model")}, related)


def _put_in_it_within(view: View, event: Event) -> Event | None:
    """What puts the model back into training mode in each turn of the loop that evaluates, instead of behind it: all turns but the
    first are in that mode."""
    loop = event.loops[-1] if event.loops else None
    if loop is None or event.grad is not False or any(loop in other.loops for other in view.of("backward", "optimizer.step")):
        return None
    if any(loop in other.loops and event.subject in real(other.subject) for other in view.of("module.eval", "module.mode")):
        return None
    return next((
        other for other in view.of("module.train")
        if other.loops and other.loops[-1] is loop and event.subject in real(other.subject)
        and all(guard in event.guards for guard in other.guards)
    ), None)


def _evaluates(view: View, event: Event) -> bool:
    """Whether a forward only evaluates: gradients are off, or its output is only read out in a loop without a training step, or behind
    the training."""
    if event.grad is False:
        return True
    if event.grad is True and not event.loops:
        return is_judged_once(view, event)
    if event.grad is not True or not _knows_modes(view, event) or not read_out(view, event):
        return False
    return adds_up(view, event) or any(  # what is only printed may be a look at the untrained model
        other.name != "print" and any(comes_from(event, alt) for alt in real(other.subject)) for other in view.of("readout")
    )


def _knows_modes(view: View, event: Event) -> bool:
    """Whether the mode matters to a model that is asked with gradients on: by its layers; or, where it is not seen which it has, by a
    `train()` that the program calls on what it trains, and asks about held-out data then, in a file that has such layers."""
    known = view.mode_dependent(event.subject)
    if known is not None or event.mode_site is None or not measures(view, event):
        return bool(known)
    another = view.of("optimizer.create") and not in_an_optimizer(view, event.subject)  # what is trained is its input: an attack
    return not another and any(map(_MODE_LAYER.match, event.site.parsed.facts.words))


def _matters(view: View, model: Value) -> bool:
    known = view.mode_dependent(model)
    if known is not None:
        return known and _awake(view, model)
    # Not known what is in it: that its author calls train() on it says that the mode matters, or the name of its family does.
    return any(event.subject is model for event in view.of("module.train")) or in_training_by_its_family(view, model)


def _awake(view: View, module: Value, depth: int = 0) -> bool:
    """Whether a layer of a module that works in training mode may be in it: parts of a model are put into evaluation mode
    for good, and the rest knows no modes."""
    run = view.run
    children = run.children.get(id(module), ())
    if not children or depth > 12 or not isinstance(module, Instance) or not _seen_whole(module):
        return True
    for child in children:
        asleep = run.mode_of(child) is False and run.mode_of(module) is True
        known = view.mode_dependent(child) if view.is_module(child) else False
        if known is not False and not asleep and _awake(view, child, depth + 1):
            return True
    return False


def _seen_whole(module: Instance) -> bool:
    """Whether all that a module does in one mode and not in the other is done by its known parts."""
    if not isinstance(module.cls, Class):
        return module.type in CONTAINERS
    inside = [unit for cls in module.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()]
    return set(module.cls.externals()) <= {"torch.nn.Module"} and not any(unit.words & {"dropout", "training"} for unit in inside)


def _trained(view: View, model: Value) -> bool:
    return trained(view, model) and bool(view.steps())


def _loaded_to_be_tested(view: View, event: Event) -> bool:
    """Whether a program that trains something goes over held-out data with a model that has its weights from a file: be it another one
    than it trains. Of one that trains nothing rule 207 speaks."""
    trains = bool(view.of("backward", "optimizer.step")) or "backward" in event.site.parsed.facts.words
    return trains and goes_over_held_out(event) and is_from_a_file(view, event.subject)


def _on_purpose(view: View, event: Event) -> bool:
    """Whether training mode was asked for where gradients are off: torchvision's detectors have a loss in no other."""
    return event.mode_site is not None and any(
        train.site == event.mode_site and train.grad_on is False for train in view.of("module.train")
    )


def _sampling(event: Event) -> bool:
    """Whether a generator is fed noise: GANs are sampled in training mode, by PyTorch's own tutorial too."""
    return bool(event.args) and all(_noise(alt) for alt in real(event.args[0]))


def _noise(value: Value) -> bool:
    while isinstance(value, Tensor) and value.source != "made":
        value = value.origin
    return isinstance(value, Tensor) and value.traits.get("made") in ("randn", "rand", "randn_like", "rand_like", "normal")


def _inner(view: View, event: Event) -> bool:
    """Whether the call stands inside another module's forward, or takes part in training: a reference or a teacher for the
    loss of the same iteration."""
    in_step = any(backward.loops and backward.loops[-1] in event.loops for backward in view.of("backward"))
    if in_step and not _now_and_then(view, event) and not is_measured(view, event) and not chooses_for_one(view, event):
        return True  # part of each step: a teacher, rewards of a rollout, samples for the discriminator
    return bool(event.get("inside")) or not isinstance(event.subject, (Instance, Opaque)) or any(
        event in backward.flows for backward in view.of("backward", "autograd.grad")
    )


def _now_and_then(view: View, event: Event) -> bool:
    """Whether it comes every so many turns, `if step % 100 == 0`, in a loop of its own; or beside the step, on data that are held out."""
    numbered = [guard for guard in event.guards if "%" in guard.site.text()] if event.loops else []
    beside = [backward for backward in view.of("backward") if numbered and backward.loops and backward.loops[-1] is event.loops[-1]]
    apart = all(any(guard not in backward.guards for guard in numbered) for backward in beside)
    return bool(numbered) and (not beside or apart and measures(view, event))
