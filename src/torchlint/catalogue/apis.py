"""What torch has removed and deprecated, and what it takes, by release: the tables that the scripts in tools/ write."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import msgspec

# What takes so many arguments by position only where factors stand among them, and what these are called. Of a method they come
# before the tensors, each of them where there are two; of a function `beta` comes first, and the other one before the last tensors.
_BOTH = ("beta", "alpha")
NUMBER_FIRST = {
    "add_": {2: ("alpha",)}, "sub_": {2: ("alpha",)}, "addcmul_": {3: ("value",)}, "addcdiv_": {3: ("value",)},
    **{f"{name}{end}": {3: ("beta",), 4: _BOTH} for name in ("addmm", "addmv", "addbmm", "baddbmm") for end in ("", "_")},
}
NUMBER_AMONG = {
    "torch.add": {3: "alpha"}, "torch.sub": {3: "alpha"}, "torch.addcmul": {4: "value"}, "torch.addcdiv": {4: "value"},
    **{f"torch.{name}": {4: "beta", 5: "beta alpha"} for name in ("addmm", "addmv", "addr", "addbmm", "baddbmm")},
}


class Gone(msgspec.Struct, frozen=True):
    """A removed name: the last known release that has it, the first that has not, and what to use."""

    after: str
    by: str
    instead: str = ""


class Deprecated(msgspec.Struct, frozen=True):
    """A deprecated name: the first known release that says so, and what to use."""

    by: str
    instead: str = ""


class Table(msgspec.Struct, frozen=True):
    """What is known of all releases that were looked at, oldest first."""

    releases: tuple[str, ...]
    removed: dict[str, Gone]
    deprecated: dict[str, Deprecated]


@lru_cache(maxsize=1)
def table() -> Table:
    """The table, read once."""
    return msgspec.json.decode((Path(__file__).parent / "api_tables.json").read_bytes(), type=Table)


class Arguments(msgspec.Struct, frozen=True):
    """The keywords that each callable takes in some release, and those of older releases alone: the last known release
    that takes it, and the first that does not. What takes `**kwargs` is not in it."""

    takes: dict[str, str]
    gone: dict[str, dict[str, tuple[str, str]]]


@lru_cache(maxsize=1)
def arguments() -> Arguments:
    """The table of keywords, read once."""
    return msgspec.json.decode((Path(__file__).parent / "api_arguments.json").read_bytes(), type=Arguments)


@lru_cache(maxsize=None)
def keywords(name: str) -> frozenset[str] | None:
    """The keywords that a callable takes in the newest release known, or took before without a word of its going; None
    for what is not known."""
    given = arguments().takes.get(name)
    return None if given is None else frozenset(given.split())


@lru_cache(maxsize=1)
def everywhere() -> dict[str, frozenset[str]]:
    """By last name: the keywords that everything of torch that is called so takes."""
    found: dict[str, frozenset[str]] = {}
    for name in arguments().takes:
        last, takes = name.rpartition(".")[2], keywords(name)
        found[last] = found[last] & takes if last in found else takes
    return found


def release(text: str) -> tuple[int, int]:
    """"2.6" as (2, 6)."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def holds(limit: str, version: tuple[int, int] | None) -> bool:
    """Whether a bound such as "<2.6" holds for a release of torch. Of one that is not known, it does not."""
    return version is not None and _COMPARE[limit.rstrip("0123456789.")](version, release(limit.lstrip("<>=")))


_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def words(names: Iterable[str]) -> frozenset[str]:
    """The last parts of names."""
    return frozenset(name.rpartition(".")[2] for name in names)


# Initialisers whose old names are words of many other things: told where `init` stands beside them.
COMMON_INITS = frozenset(f"torch.nn.init.{name}" for name in "constant eye normal sparse uniform".split())


@lru_cache(maxsize=1)
def _inside() -> dict[str, str | None]:
    return msgspec.json.decode((Path(__file__).parent / "api_names.json").read_bytes(), type=dict[str, str | None])


def names_in(module: str) -> frozenset[str] | None:
    """What torch has under a module's name, in some release, that can be called or holds more; of a class, what is called
    without an object. None where it is not known."""
    known = _inside().get(module, "")
    return None if known is None else frozenset(known.split())


# What is called `torch`, `nn`, `F` and `init`; and what torch has that is no function there: a type or a number that is called raises, too,
# but it is a name of torch's.
BASIC_MODULES = frozenset({"torch", "torch.nn", "torch.nn.functional", "torch.nn.init"})
_NOT_CALLED = re.compile(
    r"(?:u?int|float|complex|bits)\d\w*|bfloat16|bool|half|[cb]?float|c?double|chalf|short|int|long|quint\w+|qint\w+|strided|sparse_\w+"
    r"|channels_last\w*|\w+_format|per_\w+|inf|nan|pi|e|newaxis|jagged|default_generator|has_\w+|np"
    r"|npu\w*|mlu\w*|musa\w*|hpu\w*|xpu\w*|ipex\w*"  # what the makers of other devices put there
)


def is_nowhere(module: str, own: str) -> bool:
    """Whether torch has had nothing by a name in one of these modules, in no release."""
    known = names_in(module)
    return (
        bool(known) and own not in known and own[:1] != "_" and _NOT_CALLED.fullmatch(own) is None
        and f"{module}.{own}" not in table().removed and own not in _IMPORTED_THERE
    )


# What torch's modules take from Python for themselves: it is there, if nobody should call it.
_IMPORTED_THERE = frozenset("builtins ctypes functools glob importlib inspect math os platform sys textwrap threading torch warnings".split())
