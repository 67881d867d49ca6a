"""A model that is moved to the GPU only behind a call of it that is given what was put there: `test(net)`, then `net.cuda()`."""

from __future__ import annotations

from torchlint.dryrun.flow import before, happens_after
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Value, real
from torchlint.files.project import without_comments
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import conditions_of
from torchlint.rules.shared.devices import OF_GPUS, on_gpu, placed_at
from torchlint.rules.shared.never_moved import PLACES, holds_weights_of_the_cpu

_HARMLESS = frozenset({"print", "len", "str", "repr", "type", "id"})
_OF_CALLS = frozenset({"forward"})


def moved_too_late(view: View, event: Event) -> tuple[Site, Event] | None:
    """Of a call of a model: where its input was put on the GPU, and what brings the model there later, in the function that
    the call is made from."""
    model = event.subject
    if not isinstance(model, Instance) or model.kind != "module" or model.site is None or event.get("device") is not None:
        return None
    if event.get("wrapped") or event.get("inside") or not event.args:
        return None
    late = [move for move in view.about("module.move", model) if on_gpu(move.device) and _comes_later(event, move)]
    put = _put_on_the_gpu(view, event.args[0]) if late else None
    if put is None or not holds_weights_of_the_cpu(view, model, _OF_CALLS) or may_be_moved_before(view, event, model):
        return None
    move = next((move for move in late if happens_after(event, {move}.__contains__)), None)
    return None if move is None or is_placed(event) else (put, move)


def may_be_moved_before(view: View, event: Event, model: Instance, harmless: frozenset[str] = frozenset()) -> bool:
    """Whether something on a way to an event moves a model, or what it is a part of, or may: a call that is not seen and gets it."""

    def may_move(other: Event) -> bool:
        if other.kind == "module.move":
            moved = real(other.subject)
            return other.device != "cpu" and any(not isinstance(alt, Instance) or view.related_modules(alt, model) for alt in moved)
        return other.kind in ("unknown", "called") and other.get("name") not in _HARMLESS | harmless and _is_given(view, other, model)

    return bool(before(event, may_move)[0])


def _is_given(view: View, call: Event, model: Value) -> bool:
    """Whether a call that is not seen gets the model, or something that it is a part of."""
    given = (call.subject, *call.get("args", ()))
    return any(alt is model or isinstance(alt, Instance) and view.related_modules(alt, model) for value in given for alt in real(value))


def _comes_later(event: Event, move: Event) -> bool:
    """Whether a move stands below a call, or below what makes it, in the same function and outside of its loops."""
    calls = [site for site in (event.site, *event.calls) if site is not None and site.parsed is move.site.parsed]
    loops = [loop.site.location().end_row for loop in event.loops if loop.site is not None and loop.site.parsed is move.site.parsed]
    row = move.site.location().row
    if not calls or move.serial < event.serial:
        return False
    return all(site.location().row < row for site in calls) and all(end and end < row for end in loops)


def _put_on_the_gpu(view: View, value: Value) -> Site | None:
    """Where a value was put on the GPU: in any case, or wherever there is one."""
    alts = real(value)
    placed = [placed_at(view, alt) for alt in alts]
    if placed and all(on_gpu(device) for device, _ in placed):
        return placed[0][1]
    for alt, other in (alts, alts[::-1]) if len(alts) == 2 else ():
        device, site = placed_at(view, alt)
        if on_gpu(device) and site is not None and isinstance(alt, Opaque) and alt.origin is other and _where_there_is_one(site):
            return site
    return None


def _where_there_is_one(site: Site) -> bool:
    """Whether a place is come to wherever there is a GPU, or one is asked for."""
    asked = conditions_of(site)
    return bool(asked) and all(holds and OF_GPUS.search(text) and not text.lstrip().startswith("not ") for text, holds in asked)


def is_placed(event: Event) -> bool:
    """Whether a line of the files that lead to a call places models in a way that is not followed."""
    files = {id(facts): facts for site in (event.site, *event.calls) if site is not None for facts in [site.parsed.facts]}
    return any(PLACES.search(without_comments(facts.lines)) for facts in files.values())
