"""614: a training script whose random numbers nobody fixes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.rules.base import Report, View

CODE = 614
_SEEDS = re.compile(r"seed", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """A program that trains, in whose main file nothing is seeded."""
    steps = view.steps()
    first = next(iter(view.of("optimizer.create")), None)
    if first is None or not steps or any(_SEEDS.search(line) for line in first.site.parsed.facts.lines):
        return
    root = view.run.root
    if root is None or root.name == "main":
        yield Report(CODE, first.site, {"call": view.call_text(first.site)})
