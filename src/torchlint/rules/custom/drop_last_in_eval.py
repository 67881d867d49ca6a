"""208: a loader for evaluation leaves samples out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Instance, boolean, number, real
from torchlint.rules.base import Report, View

CODE = 208
_EVALUATION = re.compile(
    r"(?:^|_)(?:val|valid|validation|test|testing|eval|evaluation|dev)(?:_|\d|$|(?:data|loader|set|dl|iter|gen))",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"train|fit|unlabel|target_|source_|support|contrast|pretext", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """`val_loader = DataLoader(val_set, ..., drop_last=True)`."""
    for event in view.of("loader.create"):
        made = event.subject
        if not isinstance(made, Instance) or boolean(made.arg(8, "drop_last")) is not True or _of_one(made):
            continue
        name = made.name.rsplit(".", 1)[-1]
        given = event.site.parsed.text(event.site.node.args[0].value) if event.site.node.args else ""
        if not _EVALUATION.search(name) or _TRAINING.search(name) or _TRAINING.search(given) or _trained_on(view, made):
            continue
        shuffled = boolean(made.arg(2, "shuffle")) is True
        yield Report(
            CODE, event.site, {"name": name, "which": "other samples each time" if shuffled else "the last samples"}
        )


def _of_one(loader: Instance) -> bool:
    """Whether batches are single samples: every batch is full then."""
    size = loader.arg(1, "batch_size")
    return size is None and "**" not in loader.kwargs or number(size) == 1


def _trained_on(view: View, loader: Instance) -> bool:
    """Whether a backward runs in a loop over the loader."""
    over = {event.get("loop") for event in view.of("loop") if _goes_over(event.loop.over, loader)}
    return any(loop in over for backward in view.of("backward") for loop in backward.loops)


def _goes_over(value, loader: Instance) -> bool:
    """Whether an iterable is a loader, or enumerate, zip or tqdm around it."""
    for _ in range(6):
        if loader in real(value):
            return True
        value = getattr(value, "base", None)
        if value is None:
            return False
    return False
