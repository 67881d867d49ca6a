"""What transformers' trainers and accelerate take, by release: the table that tools/hosted_arguments.py writes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from torchlint.catalogue.apis import Gone, release


class Span(msgspec.Struct, frozen=True):
    """A keyword that came or went: the first and the last known release that takes it, and what it is called now."""

    first: str
    last: str
    instead: str = ""


class Hosted(msgspec.Struct, frozen=True):
    """The known releases of each package, oldest first, and by class the keywords that some of them do not take."""

    releases: dict[str, tuple[str, ...]]
    keywords: dict[str, dict[str, Span]]


@lru_cache(maxsize=1)
def hosted() -> Hosted:
    """The table, read once."""
    return msgspec.json.decode((Path(__file__).parent / "hosted_arguments.json").read_bytes(), type=Hosted)


@lru_cache(maxsize=1)
def gone_names() -> dict[str, Gone]:
    """What transformers has no more, by qualified name: the table that tools/hosted_names.py writes."""
    found = msgspec.json.decode((Path(__file__).parent / "hosted_names.json").read_bytes(), type=dict[str, dict[str, Gone]])
    return {f"{package}.{name}": gone for package, names in found.items() for name, gone in names.items()}


def gone_by(package: str, span: Span) -> str | None:
    """The first known release that takes a keyword no more; None where the newest does."""
    known = hosted().releases[package]
    after = known.index(span.last) + 1
    return known[after] if after < len(known) else None


def apart(package: str, old: Span, new: Span) -> bool:
    """Whether no release takes both keywords, whatever the releases between the known ones did."""
    known = hosted().releases[package]
    by = gone_by(package, old)
    if by is None or known.index(new.first) < known.index(by):
        return False
    if known.index(new.first) > known.index(by):
        return True
    # Both in one step: certain where no release lies within it.
    (major, minor), (later, after) = release(old.last), release(by)
    return major == later and minor + 1 == after
