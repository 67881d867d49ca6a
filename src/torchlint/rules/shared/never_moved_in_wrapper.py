"""A model in a DataParallel that nobody moves: wherever there is a GPU, the wrapper asks that the weights be on the first of its devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.never_moved import PLACERS, holds_weights_of_the_cpu, texts_around

# Any word of moving, whatever is moved, or of a program that is meant for the CPU.
_MOVES = re.compile(rf"\.(?:to|cuda|cpu|to_empty|_apply)\(|[\"']cpu|\b(?:{PLACERS})\b|\bwith\s+torch\.device\(")
_WRAPPER = "torch.nn.parallel.DataParallel"


def wrapped_on_the_cpu(view: View) -> Iterator[tuple[Event, Event]]:
    """The first call through each such wrapper, with what wraps."""
    told: set[int] = set()
    for event in view.of("forward") if view.of("wrap") else ():
        model = event.subject
        if id(model) in told or not event.get("wrapped") or event.get("device") is not None or not isinstance(model, Instance):
            continue
        wrap = next((wrap for wrap in view.of("wrap") if _is_around(wrap, model)), None)
        if wrap is None or model.site is None or not _is_made_in_the_run(view, event, wrap) or not _stays(view, wrap, model):
            continue
        if not any(map(_MOVES.search, texts_around(view, event, model))):
            told.add(id(model))
            yield event, wrap


def _is_around(wrap: Event, model: Instance) -> bool:
    held = real(wrap.get("module"))
    return isinstance(wrap.subject, Instance) and wrap.subject.type == _WRAPPER and len(held) == 1 and held[0] is model


def _is_made_in_the_run(view: View, event: Event, wrap: Event) -> bool:
    """Whether nobody else has what is called: a program is run from its body, or a function wraps the model itself, or makes the whole that it
    is a part of. What an object keeps, its owner may move."""
    if view.run.root is None or wrap.site.parsed.unit is event.site.parsed.unit:
        return True
    called = event.calls[0] if event.calls else None
    return called is not None and any(
        whole.site.node is called.node and whole.subject.site is not None and whole.subject.site.parsed.unit is called.parsed.unit
        for whole in view.of("forward") if isinstance(whole.subject, Instance)
    )


def _stays(view: View, wrap: Event, model: Instance) -> bool:
    """Whether a model is seen to be made on the CPU, and no call moves it, or gives it, or what it is a part of, to somebody who is not seen."""
    if model.kind != "module" or not holds_weights_of_the_cpu(view, model):
        return False
    moved = [alt for move in view.of("module.move") for alt in real(move.subject)]
    given = [alt for call in view.of("unknown", "called") for value in (call.subject, *call.get("args", ())) for alt in real(value)]
    wholes: list[Value] = [model, wrap.subject]
    if any(not isinstance(alt, Instance) or any(view.related_modules(alt, whole) for whole in wholes) for alt in moved):
        return False
    return not any(isinstance(alt, Instance) and any(view.related_modules(alt, whole) for whole in wholes) for alt in given)
