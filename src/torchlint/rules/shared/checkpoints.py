"""What several rules ask of the checkpoints that a program writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, Event, Instance, Opaque, Value, real
from torchlint.rules.base import View


def checkpoints(view: View) -> Iterator[tuple[Event, set[str]]]:
    """The dicts that are written by torch.save, and what is in them: "model", "optimizer", "scheduler", "scaler", "epoch", and
    "?" for a part that is not known. A dict of which not all is known is left out."""
    for event in view.of("save"):
        items = event.items
        if items is not None and not items.open:
            known = items.known.items()
            yield event, {"constant" if _nothing(value) else _part(key, value) for key, value in known}


def _nothing(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _part(key, value: Value) -> str:
    named = key.lower() if isinstance(key, str) else ""
    if "epoch" in named:
        return "epoch"
    for word, part in (("optim", "optimizer"), ("sched", "scheduler"), ("scaler", "scaler")):
        if word in named:
            return part
    kinds = {_kind(alt) for alt in real(value)}
    return kinds.pop() if len(kinds) == 1 else "?"


def _kind(value: Value) -> str:
    if isinstance(value, Const):
        return "constant"
    if isinstance(value, Opaque) and value.tags & {"state_dict", "optimizer_state", "scheduler_state", "scaler_state"}:
        for kind in ("optimizer", "scheduler", "scaler"):
            if kind + "_state" in value.tags or isinstance(value.origin, Opaque) and kind in value.origin.tags:
                return kind
        if isinstance(value.origin, Instance) and value.origin.kind in ("module", "wrapper"):
            return "model"
        return "model" if isinstance(value.origin, Opaque) and "module" in value.origin.tags else "?"
    if isinstance(value, Opaque) and value.source in ("attr", "param", "op") and not value.flows:
        return "number"
    return "?"


def in_files(view: View, event: Event, pattern: str) -> bool:
    """Whether the file that saves, or another of the run, has a text, comments left out."""
    wanted = re.compile(pattern)
    files = {id(site.parsed.facts): site.parsed.facts for site in (event.site, *event.calls)}
    files.update({id(other.site.parsed.facts): other.site.parsed.facts for other in view.run.graph.events if other.site is not None})
    return any(wanted.search(line.split("#", 1)[0]) for facts in files.values() for line in facts.lines)
