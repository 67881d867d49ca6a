"""A model that is moved to the GPU on one way through a program, and on another is given what was put there: `if args.test: test(net)`,
and `else: train(net)`, which alone moves it."""

from __future__ import annotations

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, exclude_each_other, real
from torchlint.rules.base import View
from torchlint.rules.shared.devices import asks_for_gpu, on_gpu, placed_at
from torchlint.rules.shared.moved_too_late import is_placed, may_be_moved_before
from torchlint.rules.shared.never_moved import holds_weights_of_the_cpu

_OF_CALLS = frozenset({"forward"})


def moved_otherwise(view: View, event: Event) -> tuple[Site, Event] | None:
    """Of a call of a model: where its input was put on the GPU, and what moves the model, which never comes before the call."""
    model = event.subject
    if not isinstance(model, Instance) or model.kind != "module" or model.site is None or event.get("device") is not None:
        return None
    if event.get("wrapped") or event.get("inside") or not event.args:
        return None
    moves = [move for move in view.about("module.move", model) if on_gpu(move.device)]
    if not moves or not all(_is_of_another_way(move, event) for move in moves):
        return None
    placed = [placed_at(view, alt) for alt in real(event.args[0])]
    if not placed or placed[0][1] is None or not all(on_gpu(device) for device, _ in placed):
        return None
    if not holds_weights_of_the_cpu(view, model, _OF_CALLS) or may_be_moved_before(view, event, model) or is_placed(event):
        return None
    return placed[0][1], moves[0]


def _is_of_another_way(move: Event, event: Event) -> bool:
    """Whether a move and a call never happen both, and what decides between them does not ask for a GPU."""
    there, here = move.get("guards") or (), event.get("guards") or ()
    return exclude_each_other(here, there) and not any(asks_for_gpu(guard) or "device" in guard.site.text() for guard in (*there, *here))
