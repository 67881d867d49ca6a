"""110: a learning-rate scheduler is built, and never stepped."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.torch_api.names import SCHEDULER_NAME
from torchlint.dryrun.values import Dict, Event, Instance, Iter, Method, Ref, Seq, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.kept_on_objects import keepers, used_nowhere
from torchlint.sieve.facts import units_of

CODE = 110
_STEPS_NOTHING = "get_last_lr|get_lr|state_dict|load_state_dict|last_epoch|print_lr"


def check(view: View) -> Iterator[Report]:
    """A scheduler of torch whose optimizer steps in a loop of the same program, while it stays where it is."""
    for created in view.of("scheduler.create"):
        scheduler = created.subject
        if not isinstance(scheduler, Instance) or not isinstance(scheduler.cls, Ref) or not scheduler.name:
            continue
        steps = [
            step
            for step in view.steps()
            if step.loops and real(step.subject) and set(real(step.subject)) <= set(real(created.optimizer))
        ]
        if (
            not steps
            or _stepped(view, scheduler)
            or _stepped_in_the_next_turn(view, created, scheduler)
            or _handed_on(view, created, scheduler)
            or _used_elsewhere(view, created, scheduler)
        ):
            continue
        roles = {"scheduler": scheduler.name, "optimizer": getattr(steps[-1].subject, "name", "") or "optimizer"}
        yield Report(
            CODE, created.site, roles, [(steps[-1].site, "the learning rate is the same at each of these steps")]
        )


def _stepped(view: View, scheduler: Instance) -> bool:
    """Whether some step may be this scheduler's."""
    for event in view.of("scheduler.step"):
        if any(alt is scheduler or not isinstance(alt, Instance) for alt in real(event.subject)) or not real(
            event.subject
        ):
            return True
    # A step of something that is not known: perhaps a list of schedulers.
    return any(event.get("name") == "step" for event in view.of("unknown"))


def _stepped_in_the_next_turn(view: View, created: Event, scheduler: Instance) -> bool:
    """Whether a loop that makes the scheduler steps what its name stands for: `if epoch == 30: scheduler = StepLR(...)` behind `scheduler.step()`."""
    return any(
        getattr(alt, "name", "") == scheduler.name and any(loop in created.loops for loop in step.loops)
        for step in view.of("scheduler.step") for alt in real(step.subject)
    )


def _handed_on(view: View, created: Event, scheduler: Instance) -> bool:
    """Whether code outside this run may come by the scheduler, and step it."""
    if id(scheduler) in view.run.escaped:
        return True
    seen = _functions_run(view, created)
    for event in view.run.graph.events:
        if event.kind == "discarded" and event.get("name") in seen:
            continue  # the call of a function, as a statement, that was followed
        if event.kind == "setattr" and any(alt is scheduler for alt in real(event.get("value"))):
            continue  # `_used_elsewhere` asks who may use that
        values = [event.get("value"), event.get("state"), *event.get("args", ())]
        if event.kind == "return" or event.kind in ("unknown", "called", "append"):
            values.append(event.subject)
        if event is not created and any(_holds(view, value, scheduler) for value in values):
            return True
    return any(
        other is not scheduler and _holds(view, value, scheduler)
        for other in (event.subject for event in view.of("scheduler.create"))
        for value in (*other.args, *other.kwargs.values())
    )


def _functions_run(view: View, created: Event) -> set[str]:
    """The names of the file's functions that were run."""
    return {unit.name for unit in units_of(created.site.parsed.facts) if id(unit) in view.run.entered and not unit.name.startswith("__")}


def _holds(view: View, value: Value | None, scheduler: Instance, depth: int = 0) -> bool:
    for alt in real(value) if isinstance(value, Value) else ():
        if alt is scheduler or isinstance(alt, Method) and alt.owner is scheduler:
            return True
        if (
            isinstance(alt, (Seq, Dict))
            and depth < 4
            and any(_holds(view, item, scheduler, depth + 1) for item in view.run.known_items(alt))
        ):
            return True
        if isinstance(alt, Iter) and depth < 4 and _holds(view, alt.base, scheduler, depth + 1):
            return True
    return False


def _used_elsewhere(view: View, created: Event, scheduler: Instance) -> bool:
    """Whether a function that was not run knows the name, or a class or program around it may: an attribute is looked
    for in the whole file."""
    facts = created.site.parsed.facts
    name = scheduler.name.rsplit(".", 1)[-1]
    kept = list(keepers(view, scheduler))
    if kept or "." in scheduler.name:  # whoever holds the object may step it
        return not kept or not all(used_nowhere(view, event, _STEPS_NOTHING) for event in kept)
    if not SCHEDULER_NAME.search(name) and any(
        SCHEDULER_NAME.search(word) for word in created.site.parsed.unit.binds - {name}
    ):
        return True  # two names: the other one may be the same thing
    return any(
        name in unit.words and id(unit) not in view.run.entered for unit in units_of(facts) if unit.name[0] != "<"
    )
