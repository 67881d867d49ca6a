"""What an object of the program keeps, and whether any file of its project may use that."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Class, Event, Instance, Value, real
from torchlint.files.project import without_comments
from torchlint.rules.base import View

_ANY_NAME = re.compile(r"\b(?:__dict__|vars|setattr|getattr|attrgetter)\b")
_NOTHING_OF_ITS_OWN = frozenset({"object", "builtins.object", "abc.ABC", "torch.nn.Module"})


def keepers(view: View, value: Value) -> Iterator[Event]:
    """Where a value is kept as an attribute of an object."""
    yield from (event for event in view.of("setattr") if any(alt is value for alt in real(event.get("value"))))


def used_nowhere(view: View, kept: Event, harmless: str) -> bool:
    """Whether no file of the project asks for an attribute, but for what is set or asked of it that does nothing.

    Args:
        kept: where it is set, on an object of a class of the project that no library knows of.
        harmless: a pattern of the names that may be asked of it.
    """
    name, facts = kept.name, kept.site.parsed.facts
    owners = list(real(kept.subject))
    if not owners or not all(_is_ours(owner) and not _handed_over(view, owner) for owner in owners):
        return False
    world = view.run.world
    project = world.project_of(facts.path)
    if project is None and world.disk.is_file(facts.path):
        return False  # there is too much of it to be read
    others = [file.code for path, file in project.files.items() if path != facts.path] if project is not None else []
    used = re.compile(rf"\.{name}\b(?!\s*=(?!=))(?!\s*\.(?:{harmless})\b)|[\"']{name}[\"']")
    return not any(used.search(code) or name in code and _ANY_NAME.search(code) for code in (without_comments(facts.lines), *others))


def _is_ours(owner: Value) -> bool:
    if not isinstance(owner, Instance) or not isinstance(owner.cls, Class):
        return False
    return set(owner.cls.externals()) <= _NOTHING_OF_ITS_OWN


def _handed_over(view: View, owner: Value) -> bool:
    """Whether code that is not seen gets an object."""
    given = (value for event in view.run.graph.events for value in event.get("args", ()))
    return id(owner) in view.run.escaped or any(alt is owner for value in given for alt in real(value))
