"""620: a training that was saved in the midst of a pass over the data begins the pass again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event, Instance, Iter, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import checkpoints, in_files

CODE = 620
# Where the program goes on from is kept, or the batches that were done are passed over.
_KEEPS = re.compile(
    r"skip|islice|Stateful|state_dict\(\)\s*#?.*(?:loader|sampler)|(?:loader|sampler)\w*\.(?:load_)?state_dict|rng|get_state|resume_(?:step|batch)|start_(?:step|batch|iter)"
    r"|\bcontinue\b|consumed|fast_forward|infinite|cycle\("
)
_STEP = re.compile(r"(?:^|_)(?:step|steps|iter|iters|iteration|batch|batch_idx|batch_id|idx|it|i)$|^(?:step|batch|iter)(?:_|$)", re.I)


def check(view: View) -> Iterator[Report]:
    """Saved every so many batches with the epoch and the optimizer, and gone on with `range(start_epoch, epochs)`."""
    for event, parts in checkpoints(view):
        if not {"model", "optimizer", "epoch"} <= parts or len(event.loops) < 2 or not _keeps_step(event):
            continue
        batches, epochs = event.loops[-1], event.loops[-2]
        if not _loads(batches.over) or _loads(epochs.over) or not _resumed(view, event) or in_files(view, event, _KEEPS.pattern):
            continue
        yield Report(CODE, event.site, {}, [(batches.site, "the pass begins here, at its first batch, after a resume, too")])


def _keeps_step(event: Event) -> bool:
    """Whether the checkpoint says how many batches were done: then it is meant to be gone on from there."""
    return any(isinstance(key, str) and _STEP.search(key) for key in event.items.known)


def _loads(over: Value | None) -> bool:
    while isinstance(over, Iter):
        over = over.base
    alts = real(over) if over is not None else ()
    return bool(alts) and all(
        isinstance(alt, Instance) and alt.kind == "loader" or "loader" in str(getattr(alt, "name", "") or "").lower() for alt in alts
    )


def _resumed(view: View, event: Event) -> bool:
    counts_on = r"range\(\s*[\w.]*(?:start|epoch)\w*\s*(?:\+\s*1\s*)?,"
    return all(in_files(view, event, text) for text in (r"""\[["'](?:start_)?epochs?["']\]""", r"torch\.load\(", counts_on))
