"""620: a training that was saved in the midst of a pass over the data begins the pass again."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Iter, Loop, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import checkpoints, in_files, left_out
from torchlint.rules.shared.goes_on import begins

CODE = 620
# Where the program goes on from is kept, or the batches that were done are passed over.
_KEEPS = re.compile(
    r"skip|islice|Stateful|state_dict\(\)\s*#?.*(?:loader|sampler)|(?:loader|sampler)\w*\.(?:load_)?state_dict|rng|get_state|resume_(?:step|batch)|start_(?:step|batch|iter)"
    r"|consumed|fast_forward|infinite|cycle\("
)
_STEP = re.compile(r"(?:^|_)(?:step|steps|iter|iters|iteration|batch|batch_idx|batch_id|idx|it|i)$|^(?:step|batch|iter)(?:_|$)", re.I)


def check(view: View) -> Iterator[Report]:
    """Saved every so many batches with the epoch and the optimizer, and gone on with `range(start_epoch, epochs)`."""
    for event, parts in checkpoints(view):
        if not {"model", "optimizer"} <= parts or len(event.loops) < 2 or not _keeps_step(event):
            continue
        batches, epochs = event.loops[-1], event.loops[-2]
        if not _loads(batches.over) or _loads(epochs.over) or _passes(batches) or in_files(view, event, _KEEPS):
            continue
        if not ("epoch" in parts and _resumed(view, event) or _by_batches(view, event, epochs)):
            continue
        yield Report(CODE, left_out(event, batches.site), {}, [(batches.site, "the pass begins here, at its first batch, after a resume, too")])


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


def _by_batches(view: View, event: Event, epochs: Loop) -> bool:
    """Whether the epoch to begin at is told from the number of batches that were done: `start = iteration // len(loader)`."""
    first = begins(epochs)
    told = rf"(?<![\w.]){re.escape(first or '')}\s*=[^=].*//?\s*(?:float\()?len\("
    return first is not None and all(in_files(view, event, text) for text in (r"torch\.load\(", told))


def _passes(loop: Loop) -> bool:
    """Whether a loop goes on to its next turn by itself, as it would where batches are passed over."""
    node = loop.site.node if loop.site is not None else None
    return isinstance(node, cst.For) and any(isinstance(part, cst.Continue) for part in walk(node.body))


def _resumed(view: View, event: Event) -> bool:
    counts_on = r"range\(\s*[\w.]*(?:start|epoch)\w*\s*(?:\+\s*1\s*)?,"
    return all(in_files(view, event, text) for text in (r"""\[["'](?:start_)?epochs?["']\]""", r"torch\.load\(", counts_on))
