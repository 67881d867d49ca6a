"""The declarative forms of rule pages, checked when a page is read: what judges them may then rely on their keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from torchlint.catalogue.vocabulary import EVENTS, TRAITS

_Event = Literal[tuple(EVENTS)]
_Place = Annotated[int, msgspec.Meta(ge=0, le=1000)]


class _Order(msgspec.Struct, forbid_unknown_fields=True):
    after: _Event
    before: _Event
    subject: Literal["optimizer", "scheduler", "scaler", "module", "sampler"]
    expect: _Event | None = None
    forbidden: _Event | None = None

    def __post_init__(self) -> None:
        if (self.expect is None) == (self.forbidden is None):
            raise ValueError("either `expect` or `forbidden` has to be given")


class _Trait(msgspec.Struct, forbid_unknown_fields=True):
    call: list[str]
    trait: Literal[tuple(TRAITS)]
    must: Literal["have", "not have"]
    argument: str = ""
    position: _Place = 0


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str | list[str]
    argument: str | None = None
    value: Any = None
    missing: str | list[str] | None = None
    position: _Place = 0
    torch: Annotated[str, msgspec.Meta(pattern=r"^[<>]=?\d{1,3}\.\d{1,3}$")] | None = None
    inside: Literal["module"] | None = None
    round_trip: Literal["silent"] | None = None
    holds: Literal["weights", "anything"] | None = None
    fix: Annotated[str, msgspec.Meta(pattern=r"^\w+=[^\n]{1,200}$")] | None = None
    fix_beside: str | None = None
    unsafe: bool = False


_FORMS = {"order": list[_Order], "trait": list[_Trait], "call": list[_Call], "context": list[dict[str, Any]]}


def check(form: str, tables: Any) -> None:
    """Checks the tables of one form.

    Raises:
        msgspec.ValidationError: they are no tables, or one has a key that is missing, unknown or of the wrong type.
    """
    msgspec.convert(tables, _FORMS[form])
