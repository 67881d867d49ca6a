"""An explanation as text, put on the error as a note; before Python 3.11 the note is printed."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchsan.errors import inplace
from torchsan.errors.operands import Operand, describe
from torchsan.own import os
from torchsan.program.where import Where
from torchsan.report import printing, wording
from torchsan.report.deliver import say
from torchsan.report.mends import MENDS

_SAID = (107, 108, 416, 607)  # of these, torch says no more than the pitfall's own words
_OTHER_CALL = (804, 934)  # whose page speaks of another call than the one that failed
_LONG = 160  # of torch's words, a finding repeats so much


class Explanation(NamedTuple):
    """What is known of an error. `number` is None where no pitfall has this name yet; `told` where the words are those of
    the family, which know more of the error than the pitfall's page."""

    number: int | None
    name: str
    summary: str
    mend: str
    where: Where | None
    layer: str | None
    operands: list[Operand]
    offender: Operand | None
    related: list[tuple[Where, str]]
    facts: list[str] = []
    error: str = ""  # torch's own words, the first line of them
    told: bool = False

    @property
    def says(self) -> str:
        """What is known beside the pitfall's own words: facts, or what torch says."""
        return "; ".join(self.facts) or ("" if self.number in _SAID else self.error[:_LONG])


def note(told: Explanation) -> str:
    """The explanation as text, for the end of a traceback."""
    code = f"TS{told.number:03d} " if told.number is not None else ""
    lines = [f"torchsan: {code}{told.name}: {wording.fill(told.summary, roles(told))}"]
    rows: list[tuple[str, str]] = []
    if told.where is not None:
        rows.append(("at", _place(told.where)))
    if told.layer is not None:
        rows.append(("in", told.layer))
    rows.extend(("what", fact) for fact in told.facts)
    for one in told.operands:
        rows.append((one.name, describe(one.value)))
        if one.made is not None:
            rows.append(("", f"made at {_place(one.made)}"))
        elif one.maker is not None:
            rows.append(("", f"made by {one.maker}"))
    rows.extend((f"{'and' if at else 'where'}", f"{_place(where)}: {why}") for at, (where, why) in enumerate(
        (where, why) for where, why in told.related if told.offender is None or where != told.offender.made
    ))
    rows.append(("mend", wording.fill(mend_of(told), roles(told))))
    if told.number is not None and wording.rules().find(told.number) is not None:
        rows.append(("see", f"torchlint explain TL{told.number:03d}"))
    width = min(24, max(len(label) for label, _ in rows))
    lines.extend(f"  {label:<{width}}  {text}" for label, text in rows)
    return "\n".join(lines)


def mend_of(told: Explanation) -> str:
    """The mend, with fields for `roles`: the page's, where all is known that it speaks of, or else our own."""
    asked = wording.fields(told.mend)
    if told.told or told.number not in MENDS or asked <= roles(told).keys():
        return told.mend
    return MENDS[told.number][2]


def roles(told: Explanation) -> dict[str, Any]:
    """What fills the fields of a page's words: the offending value, and the call that failed."""
    filled: dict[str, Any] = {}
    if told.offender is not None:
        filled["value"] = filled["name"] = told.offender.name.split(" of ")[0]
    elif told.number == 306:
        filled["value"] = filled["name"] = "target"
    if told.number == 115 and told.related:
        name = inplace.target(told.related[0][0])
        if name is not None:
            filled["value"] = filled["name"] = name
    call = printing.code_at(told.where)
    if call and told.number not in _OTHER_CALL:
        filled["call"] = call
    return filled


def _place(where: Where) -> str:
    location = where.location()
    line = printing.source_line(location)
    path = os.path.relpath(location.filename) if os.path.exists(location.filename) else location.filename
    path = printing.cell_of(location.filename) or (location.filename if path.startswith("..") else path)
    return f"{path}:{location.row}" + (f": {line.strip()}" if line else "")


def attach(error: BaseException, text: str) -> None:
    """Put a note on an exception, once however many watches it leaves; printed where Python knows no notes."""
    if getattr(error, "_torchsan_noted", False):
        return
    try:
        error._torchsan_noted = True  # type: ignore[attr-defined]
    except AttributeError:
        return
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        say(text.removeprefix("torchsan: "))
