"""Verdicts as they are kept: what many of them name alike is written once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Optional

import msgspec

from torchlint.files.modules import is_question
from torchlint.run.judge import Verdict
from torchlint.sieve.glimpse import Glimpse


class Entry(msgspec.Struct, array_like=True):
    """A verdict, without what it hangs on: numbers of paths with their digests, and what was looked at in them as the number of
    a glimpse, counted from 1; 0 is all of the file."""

    verdict: Verdict
    depends: list[tuple[int, Optional[bytes], int]]


class Shard(msgspec.Struct, array_like=True):
    """Entries by path. Numbers in them are places in the lists."""

    paths: list[str]
    glimpses: list[Glimpse]
    entries: dict[str, Entry]

    def hangs_on(self, entry: Entry) -> Iterator[tuple[str, str | None, Glimpse | None]]:
        """The paths that a verdict hangs on, the digest of each, and what was looked at.

        Raises:
            IndexError: the shard is not what we have written.
        """
        for at, digest, number in entry.depends:
            yield self.paths[at], digest and digest.hex(), self.glimpses[number - 1] if number else None

    def whole(self, entry: Entry) -> Verdict:
        """A verdict with what it hangs on."""
        known = list(self.hangs_on(entry))
        glimpses = {path: glimpse for path, _, glimpse in known if glimpse is not None}
        return msgspec.structs.replace(entry.verdict, depends={path: digest for path, digest, _ in known}, glimpses=glimpses)

    def files(self, entry: Entry) -> dict[str, str | None]:
        """The files that a verdict hangs on, with their digests."""
        return {path: digest for path, digest, _ in self.hangs_on(entry) if not is_question(path)}

    def with_more(self, verdicts: Mapping[str, Verdict]) -> Shard:
        """The same with new verdicts, without those on files that are gone; only what is still needed is kept."""
        numbers: dict[str, int] = {}
        glimpses: dict[Glimpse, int] = {}
        entries: dict[str, Entry] = {}
        for path, entry in self.entries.items():
            try:
                verdict = self.whole(entry) if path not in verdicts and os.path.exists(path) else None
            except IndexError:
                continue
            if verdict is not None:
                entries[path] = _entry(verdict, numbers, glimpses)
        for path, verdict in verdicts.items():
            entries[path] = _entry(verdict, numbers, glimpses)
        return Shard(list(numbers), list(glimpses), entries)


def _entry(verdict: Verdict, numbers: dict[str, int], glimpses: dict[Glimpse, int]) -> Entry:
    """A verdict as it is kept; the paths and glimpses that are new get the next numbers."""
    depends = []
    for path, digest in verdict.depends.items():
        glimpse = verdict.glimpses.get(path)
        number = glimpses.setdefault(glimpse, len(glimpses) + 1) if glimpse is not None else 0
        depends.append((numbers.setdefault(path, len(numbers)), digest and bytes.fromhex(digest), number))
    return Entry(msgspec.structs.replace(verdict, depends={}, glimpses={}), depends)
