"""States that are taken of a model, not copied, and loaded back into it when it was trained: that changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import happens_after
from torchlint.dryrun.values import Event, Opaque, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.processes import unit_text


def loaded_back(view: View) -> Iterator[tuple[Event, Opaque, Event]]:
    """Each assignment of a state, the state, and where it is loaded back."""
    loads = [load for load in view.of("load") if real(load.get("state"))]
    for event in view.of("assign") if loads else ():
        for state in real(event.subject):
            if not isinstance(state, Opaque) or "state_dict" not in state.tags or state.origin is None:
                continue
            back = next((load for load in loads if load.serial > event.serial and _is_of(event, load, state) and _into(load, state.origin)), None)
            if back is None or _written_to(event, back):
                continue
            if _trained_between(view, event, back, state.origin) or _trained_in_turns(view, event, back, state.origin):
                yield event, state, back


def _is_of(event: Event, load: Event, state: Opaque) -> bool:
    """Whether a state is loaded, of a model that is wrapped or not the one that was taken; or a copy that is made of it only then:
    `load_state_dict(deepcopy(kept))`."""
    given = real(load.get("state"))
    if len(given) > 1:
        return set(given) == set(real(event.subject)) and all(getattr(other, "site", None) == state.site for other in given)
    given = given[0]
    if given is state or not isinstance(given, Opaque) or "copy" not in given.tags or given.site is None:
        return given is state
    name = re.escape(event.site.parsed.text(event.target))
    taken = re.findall(rf"(?<![\w.]){name}\s*=[^=]", unit_text(event.site))
    return len(taken) == 1 and re.fullmatch(rf"(?:\w+\.)?(?:deep)?copy\(\s*{name}\s*\)", given.site.text()) is not None


def _into(load: Event, model: Value) -> bool:
    alts = real(load.subject)
    return len(alts) == 1 and alts[0] is model


def _trained_between(view: View, event: Event, back: Event, model: Value) -> bool:
    for step in view.steps():
        if not event.serial < step.serial < back.serial or len(real(step.subject)) != 1:
            continue
        modules = view.held_by(real(step.subject)[0])[0]
        if not any(view.related_modules(held, model) for held in modules):
            continue
        if happens_after(event, {step}.__contains__) and happens_after(step, {back}.__contains__):
            return True
    return False


def _trained_in_turns(view: View, event: Event, back: Event, model: Value) -> bool:
    """Whether each turn of a loop begins with the state and trains on: the second one begins with what the first has left."""
    turns = [loop for loop in back.loops if loop not in event.loops]
    if not turns or back.guards != event.guards:
        return False
    return any(
        turns[0] in step.loops and step.serial > back.serial and len(real(step.subject)) == 1
        and any(view.related_modules(held, model) for held in view.held_by(real(step.subject)[0])[0])
        for step in view.steps()
    )


def _written_to(event: Event, back: Event) -> bool:
    """Whether something is put into the state, or what is kept under its name is copied, in the functions around."""
    name = re.escape(event.site.parsed.text(event.target))
    changed = re.compile(rf"(?<![\w.]){name}\s*(?:\[[^]]*\]\s*[-+*/]?=[^=]|\.(?:update|pop|clear|setdefault)\()|(?<![\w.]){name}\s*=[^=\n]*copy|(?<![\w.]){name}\.items\(")
    return any(changed.search(unit_text(site)) for site in (event.site, back.site))
