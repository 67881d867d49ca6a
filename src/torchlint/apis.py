"""What torch has removed and deprecated, by release: the table that tools/api_tables.py writes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec


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


def release(text: str) -> tuple[int, int]:
    """"2.6" as (2, 6)."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def words(names: dict[str, Gone] | dict[str, Deprecated]) -> frozenset[str]:
    """The last parts of names."""
    return frozenset(name.rpartition(".")[2] for name in names)
