"""Explains torch's own errors: what they are about, which operands were there, where these were made, what mends it.

The error itself stays as it is, with a note (`note.py`). How torch words its errors stands in `families`, which is loaded
when there is one.
"""

from __future__ import annotations

from typing import Any

from torchsan.errors import inplace, loader_errors, offender
from torchsan.errors.note import Explanation
from torchsan.errors.operands import at_error, frames, layer_of
from torchsan.program.where import _USER, Where
from torchsan.report import wording
from torchsan.report.mends import MENDS

_LOADERS = (607, 608, 612, 615)  # errors of a DataLoader, whose samples are in no variable of the line's
_LOADING = ("sample-of-unknown-type",)
_ROLES = {"value", "name", "call"}  # that an error can fill


def explain(error: BaseException, watch: Any = None) -> Explanation | None:
    """What is known of an exception that left the watch; None where it is none of torch's that we know."""
    from torchsan.errors.family import Said, Seen
    from torchsan.errors.known import family_of

    way = frames(error.__traceback__)
    known = family_of(error, way)
    if known is None:
        return None
    family, number = known.family, known.family.number
    said = Said()
    if number == 508 and loader_errors.while_collating(str(error), way):
        number, family = 615, family._replace(what="", mend="", look=None, fact="")
    at = next((one for one in reversed(way) if one.kind == _USER), None)
    operands = [] if number in _LOADERS or family.name in _LOADING else at_error(way)
    if number == 108 and _was_cut(watch):
        number = 117
    if family.look is not None:
        said = family.look(Seen(str(error), known.match, way, operands, watch)) or Said()
    filled = {key: value for key, value in known.match.groupdict().items() if value is not None}
    own = [wording.fill(family.fact, filled)] if _can_fill(family.fact, filled) else []
    facts = [*own, *said.facts] if said.beside else list(said.facts) or own
    blamed = said.value
    if number is not None and family.look is None and number not in _LOADERS:
        blamed = offender.offender(number, operands, way)
        facts = facts or offender.facts(number, way, blamed)
    if number == 615:
        facts = loader_errors.ragged(str(error), way)
    if blamed is not None and not any(one.value is blamed.value for one in operands):
        operands = [blamed, *operands]
    summary, mend, told = _words(family, number, said, filled, watch)
    related = [(blamed.made, f"`{blamed.name}` was made here")] if blamed and blamed.made else []
    if number == 115:
        blamed = None
        related = inplace.find(error, way, watch)
        if related and (better := inplace.MEND_BY_REASON.get(related[0][1])):
            mend, told = better, True
    if number == 107:
        related += _freed_by(watch)
    if (number in _LOADERS or family.name in _LOADING) and (inside := loader_errors.line_of_worker(str(error))) is not None:
        related.append((inside, "the line of the worker process"))
    own_pages = watch.pages if watch is not None else {}
    name = family.name if number is None else wording.rule(number, MENDS[number][1], own_pages).name
    return Explanation(
        number, name, summary, mend, at.where if at else None, layer_of(way), operands, blamed, related, facts,
        str(error).strip().split("\n", 1)[0], told,
    )


def _words(family: Any, number: int | None, said: Any, filled: dict[str, str], watch: Any) -> tuple[str, str, bool]:
    """Cause and mend, and whether they are the family's own: those know more of the error than a pitfall's page."""
    what = said.what or wording.fill(family.what, filled)
    mend = said.mend or wording.fill(family.mend, filled)
    if number is None:
        return _plain(what), _plain(mend), True
    page = wording.rule(number, MENDS[number][1], watch.pages if watch is not None else {})
    _, summary, ours = MENDS[number]
    if said.mend or (family.mend and number not in (306, 409, 410, 411)):
        return _plain(what) or summary, _plain(mend), True
    asked = wording.fields(page.help)
    if page.help and asked <= _ROLES and (asked or "{value}" not in ours):  # ours may name what the page's cannot
        ours = page.help
    return summary, ours, False


def _plain(text: str) -> str:
    """Words that have no fields left: their braces are braces."""
    return text.replace("{", "{{").replace("}", "}}")


def _can_fill(template: str, filled: dict[str, str]) -> bool:
    return bool(template) and wording.fields(template) <= filled.keys()


def _was_cut(watch: Any) -> bool:
    """Whether a model that is trained ran with gradients on since the last backward and step."""
    forward = watch.ledger.last_forward if watch is not None else None
    if forward is None or forward.subject is None:
        return False
    trained = watch.ledger.of(forward.subject.parameters())
    since = [max(account.number("backward"), account.number("step")) for account in trained]
    return bool(since) and forward.number > max(since)


def _freed_by(watch: Any) -> list[tuple[Where, str]]:
    """The backward before the one that failed."""
    events = [account.last["backward"] for account in watch.ledger if "backward" in account.last] if watch else []
    last = max(events, key=lambda event: event.number, default=None)
    place = None if last is None else last.where()
    return [] if place is None else [(place, "the backward before it")]

