"""The declarative forms of rule pages, checked when a page is read: what judges them may then rely on their keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from torchlint.catalogue.apis import names_in
from torchlint.catalogue.effects import LOSS_OF_CLASS
from torchlint.catalogue.vocabulary import TRAITS

_Place = Annotated[int, msgspec.Meta(ge=0, le=1000)]
_Limit = Annotated[str, msgspec.Meta(pattern=r"^[<>]=?\d{1,3}\.\d{1,3}$")]
_FIX = re.compile(r"\w+=[^\n]{1,200}")  # a keyword argument
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")

# By subject, the events that are known to belong to it, in the source and in a run.
_OF_SUBJECT = {
    "optimizer": ("optimizer.step", "optimizer.zero_grad", "backward", "clip"),
    "scheduler": ("scheduler.step", "optimizer.step"),
    "scaler": ("scaler.scale", "scaler.unscale", "scaler.step", "scaler.update", "clip"),
    "module": ("module.eval", "module.train", "backward"),
}
_BEGINS = {"optimizer": "optimizer.create", "scheduler": "scheduler.create"}  # only as `after`
_ABOUT_MODULES = ("module.eval", "backward", "module.train", None)

# What a page's message may speak of; what a finding knows no name of reads as the word itself.
ROLES = ("call", "loss", "model", "optimizer", "scaler", "scheduler")


class _Order(msgspec.Struct, forbid_unknown_fields=True):
    after: str
    before: str
    subject: Literal["optimizer", "scheduler", "scaler", "module"]
    expect: str | None = None
    forbidden: str | None = None
    torch_since: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")] | None = None

    def __post_init__(self) -> None:
        if (self.expect is None) == (self.forbidden is None):
            raise ValueError("one of `expect` and `forbidden` has to be given, and not both")
        events, begins = _OF_SUBJECT[self.subject], _BEGINS.get(self.subject)
        for key in ("after", "before", "expect", "forbidden"):
            event = getattr(self, key)
            known = (*events, begins) if begins and key == "after" and self.expect else events
            if event is not None and event not in known:
                raise ValueError(f"`{key}` is {event!r}; for the subject {self.subject!r} it is one of {', '.join(known)}")
        if (self.expect or self.forbidden) in (self.after, self.before):
            raise ValueError(f"`{'expect' if self.expect else 'forbidden'}` has to be another event than `after` and `before`")
        if self.subject == "module" and (self.after, self.before, self.expect, self.forbidden) != _ABOUT_MODULES:
            raise ValueError(
                'the subject "module" goes with after = "module.eval", before = "backward" and expect = "module.train" only'
            )


class _Trait(msgspec.Struct, forbid_unknown_fields=True):
    call: list[str]
    trait: Literal[tuple(TRAITS)]
    must: Literal["have", "not have"]
    argument: Literal["input", "target"] = "input"
    position: Annotated[int, msgspec.Meta(ge=0, le=1)] | None = None

    def __post_init__(self) -> None:
        if self.position is not None and self.position != ("input", "target").index(self.argument):
            raise ValueError(f"`position` of the argument {self.argument!r} of a loss is {1 - self.position}")
        for name in self.call:
            module, _, last = name.rpartition(".")
            if (module, last) not in LOSSES:
                word = nearest(name, [".".join(loss) for loss in LOSSES])
                raise ValueError(f"`call`: {name!r} is no loss that this form knows{word}")


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str | list[str]
    argument: str | None = None
    value: bool | int | float | str | None = None
    missing: str | list[str] | None = None
    position: _Place | None = None
    torch: _Limit | None = None
    inside: Literal["module"] | None = None
    round_trip: Literal["silent"] | None = None
    fix: str | None = None
    fix_beside: str | None = None
    unsafe: bool = False

    def __post_init__(self) -> None:
        for name in [self.name] if isinstance(self.name, str) else self.name:
            _check_name(name)
        if (self.argument is None) != (self.value is None):
            raise ValueError("`argument` and `value` go together: the argument, and what must not be given for it")
        if self.argument is not None and self.missing is not None:
            raise ValueError("`argument` and `missing` are two tables: a call that gives one, and a call that lacks the other")
        if self.position is not None and self.argument is None and self.missing is None:
            raise ValueError("`position` is where `argument` or `missing` stands when it is given without its name")
        if self.fix is not None and not _FIX.fullmatch(self.fix):
            raise ValueError(f"`fix` is a keyword argument as it is written in a call, such as 'map_location=\"cpu\"', not {self.fix!r}")
        if self.fix is None and (self.fix_beside is not None or self.unsafe):
            raise ValueError("`unsafe` and `fix_beside` say something of a `fix`, and there is none")


LOSSES = frozenset(
    {("torch.nn", cls) for cls in LOSS_OF_CLASS} | {("torch.nn.functional", name) for name in LOSS_OF_CLASS.values()}
)
_FORMS = {"order": _Order, "trait": _Trait, "call": _Call}


def check(form: str, tables: Any) -> None:
    """Checks the tables of one form.

    Raises:
        FormError: they are no tables, or one has a key that is missing, unknown or of the wrong type, or keys that say nothing
            together.
    """
    try:
        msgspec.convert(tables, list[_FORMS[form]])
    except msgspec.ValidationError as error:
        raise _worded(str(error), _FORMS[form]) from None


class FormError(ValueError):
    """What is wrong with a form; `table` is the number of the table, from 0."""

    def __init__(self, words: str, table: int | None):
        super().__init__(words)
        self.table = table


def _worded(text: str, form: type[msgspec.Struct]) -> FormError:
    """What msgspec says of a table, with its place as a number and the keys or values that would be right."""
    words, _, place = text.partition(" - at `$")
    found = re.match(r"\[(\d+)\](?:\.(\w+))?", place)
    number, key = (int(found[1]), found[2]) if found else (None, None)
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", words, re.DOTALL)
    missing = re.fullmatch(r"Object missing required field `(.*)`", words)
    fields = {field.name: field.type for field in msgspec.structs.fields(form)}
    if unknown:
        words = f"unknown key {unknown[1]!r}{nearest(unknown[1], fields)}; there are {', '.join(fields)}"
    elif missing:
        words = f"no `{missing[1]}`"
    elif key:
        right = get_args(fields.get(key)) if get_origin(fields.get(key)) is Literal else ()
        right = f"; it is one of {', '.join(map(repr, right))}" if right else ""
        words = f"`{key}`: {words}{right}"
    return FormError(words, number)


def _check_name(name: str) -> None:
    """Raises ValueError for what no call can be told by."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"`name`: {name!r} is no name as an import would write it, with its module: torch.load")
    parts = name.split(".")
    if parts[0] != "torch":
        return  # of other libraries nothing is known
    for end in range(1, len(parts)):
        inside = names_in(".".join(parts[:end]))
        if inside is None:
            return
        if parts[end] not in inside:
            there, word = ".".join(parts[:end]), nearest(parts[end], inside)
            if parts[end - 1][:1].isupper():
                raise ValueError(f"`name`: {name} would be called on an object, whose class this form does not know")
            raise ValueError(f"`name`: there is no {name} to call: nothing in {there} is called {parts[end]}{word}")


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint at the known word that was probably meant."""
    import difflib

    found = difflib.get_close_matches(word, sorted(known), 1)
    return f"; is it {found[0]}?" if found else ""
