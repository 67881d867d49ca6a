"""The class whose method a place in the source stands in."""

from __future__ import annotations

from torchlint.dryrun.source_text import Parsed
from torchlint.sieve.facts import ClassFacts


def class_around(parsed: Parsed) -> ClassFacts | None:
    """The class that has a function for its method; None of a function by itself, of one in another, and of the body of a file."""
    return next((cls for cls in parsed.facts.all_classes() if parsed.unit in cls.methods.values()), None)
