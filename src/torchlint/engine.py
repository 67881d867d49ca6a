"""Judges one source file: sieve, dry run, rules, findings."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from torchlint.catalogue import Rule
from torchlint.findings import Finding


class Judged(msgspec.Struct, frozen=True):
    """What judging one file gave. `depends` are the paths that were looked for while it was judged, with the sha256 of
    their content or None where nothing was there: as long as they stay so, the findings stay so. A finding may stand in
    another file than the one judged (a mistake in a helper that this file calls).
    """

    findings: tuple[Finding, ...]
    depends: dict[str, str | None] = {}


class Engine:
    """The judge. One per process: what it learns of a file is kept for the files that import it.

    Args:
        rules: the active rules.
        torch_version: the torch release to judge by, as (major, minor); None where it is not known.
        roots: folders from which absolute imports of project files resolve, besides what each file's place tells.
    """

    def __init__(self, rules: Sequence[Rule], torch_version: tuple[int, int] | None = None, roots: Sequence[str] = ()):
        self.rules = tuple(rules)
        self.torch_version = torch_version
        self.roots = tuple(roots)

    def check(self, filename: str, text: str) -> Judged:
        """The findings of one file of Python text (a notebook comes as the text that `source.py` made of it; rows are
        those of `text`).

        Raises:
            SyntaxError: the text does not parse.
        """
        return Judged(())
