"""620: a training that was saved in the midst of a pass over the data begins the pass again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Instance, Iter, Loop, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import checkpoints, in_files, kept_in, left_out
from torchlint.rules.shared.counted_loops import begins

CODE = 620
# Where the program goes on from is kept, or the batches that were done are passed over.
_KEEPS = re.compile(
    r"skip(?:ped|ping)?_?(?:first|batch|step|iter|data|num|count|until)|(?:batch|step|iter)\w*_?skip|\bif\b.*\bskip\b"
    r"|\bskip(?:ped)?\b\s*(?:[<>(]|-=)|islice|Stateful|state_dict\(\)\s*#?.*(?:loader|sampler)|(?:loader|sampler)\w*\.(?:load_)?state_dict"
    r"|rng|(?<![A-Za-z])get_state(?!_dict)|resume_(?:step|batch)"  # not `target_state`
    r"|(?:(?<![A-Za-z\d]_)|(?:resum\w*|train\w*|global|data|loader|epoch|init\w*)_)start_(?:step|batch|iter)"  # not `ctc_loss_start_iter`
    r"|consumed|fast_forward|infinite|cycle\("
)
# What else may begin at a step: a term of the loss, an average of the weights.
_OF_ELSE = re.compile(r"\b\w*(?:loss|ema|swa|disc(?:riminator)?|gan|adv|kl|anneal|penalty|reg)_start_(?:step|batch|iter)\w*", re.IGNORECASE)
_STEP = re.compile(r"(?:^|_)(?:step|steps|iter|iters|iteration|batch|batch_idx|batch_id|idx|it|i)$|^(?:step|batch|iter)(?:_|$)", re.I)


def check(view: View) -> Iterator[Report]:
    """Saved every so many batches with the epoch and the optimizer, and gone on with `range(start_epoch, epochs)`."""
    for event, parts in checkpoints(view):
        if not {"model", "optimizer"} <= parts or len(event.loops) < 2 or not _keeps_step(view, event):
            continue
        batches, epochs = event.loops[-1], event.loops[-2]
        if not _loads(batches.over) or _loads(epochs.over) or _passes(view, batches) or _keeps(view, event, batches, epochs):
            continue
        if not (_resumed(view, event, epochs) or _by_batches(view, event, epochs)):
            continue
        yield Report(CODE, left_out(event, batches.site), {}, [(batches.site, "the pass begins here, at its first batch, after a resume, too")])


def _keeps(view: View, event: Event, *loops: Loop) -> bool:
    """Whether the files that train, save or load tell of what lets batches be passed over; not those of the model, which may have a
    `skip_connection`."""
    loads = [site for load in view.of("load") for site in (load.site, *load.calls)]
    sites = [event.site, *event.calls, *(loop.site for loop in loops), *loads]
    files = {id(site.parsed.facts): site.parsed.facts for site in sites if site is not None}
    return any(_KEEPS.search(_OF_ELSE.sub("", line.split("#", 1)[0])) for facts in files.values() for line in facts.lines)


def _keeps_step(view: View, event: Event) -> bool:
    """Whether the checkpoint says how many batches were done: then it is meant to be gone on from there."""
    return any(isinstance(key, str) and _STEP.search(key) for key in kept_in(view, event) or ())


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


def _passes(view: View, loop: Loop) -> bool:
    """Whether a loop goes on to its next turn by itself, as it would where batches are passed over; not behind the backward, where a batch
    is done: `else: continue` of an accumulation; nor where a batch has failed: `except RuntimeError: continue`."""
    node, parsed = (loop.site.node, loop.site.parsed) if loop.site is not None else (None, None)
    if not isinstance(node, cst.For):
        return False
    failed = {id(part) for handler in walk(node.body) if isinstance(handler, cst.ExceptHandler) for part in walk(handler)}
    rows = [Site(parsed, part).location().row for part in walk(node.body) if isinstance(part, cst.Continue) and id(part) not in failed]
    return bool(rows) and min(rows) < _trained_at(view, loop)


def _trained_at(view: View, loop: Loop) -> float:
    """The first row with a backward that each turn of a loop comes to; none is behind all rows."""
    parsed = loop.site.parsed
    places = [Site(parsed, part).location() for part in loop.site.node.body.body if isinstance(part, (cst.SimpleStatementLine, cst.With))]
    rows = [event.site.location().row for event in view.of("backward") if loop in event.loops and event.site.parsed.unit is parsed.unit]
    return min((row for row in rows for place in places if place.row <= row <= (place.end_row or place.row)), default=math.inf)


_COUNTS_ON = r"range\(\s*(?:max\(\s*\d+\s*,\s*|int\(\s*)?[\w.]*(?:start|epoch)\w*\)?\s*(?:\+\s*1\s*)?,"


def _resumed(view: View, event: Event, epochs: Loop) -> bool:
    """Whether the epoch is read back as it was saved, and the training counts on from there."""
    counted = _counted(epochs)
    is_while = counted and isinstance(epochs.site.node, cst.While)
    counts_on = rf"(?<![\w.]){re.escape(counted)}\s*\+=\s*1\b" if is_while else _COUNTS_ON
    if not all(in_files(view, event, text) for text in (r"torch\.load\(", counts_on)):
        return False
    known, called = kept_in(view, event) or {}, {"epoch", counted}
    for key, value in known.items():
        at = re.escape(repr(key).strip("'")) if isinstance(key, str) else None
        is_epoch = key == "epoch" or any(isinstance(alt, Opaque) and alt.name in called and alt.source != "call" for alt in real(value))
        if at is None or not is_epoch and not re.fullmatch(r"(?:start_)?epochs?", at):
            continue
        read = rf"""\[["']{at}["']\]""" if event.get("items") is not None else rf"(?:start|epoch)\w*\s*=\s*\w+\[{list(known).index(key)}\]"
        if is_while:
            read = rf"(?<![\w.]){re.escape(counted)}\s*=\s*(?:int\(\s*)?\w+{read}"  # what the loop asks is what is read back
        if in_files(view, event, read):
            return not in_files(view, event, rf"(?:{read})\)?\s*\+\s*1")
    return False


def _counted(loop: Loop) -> str:
    """What a loop over numbers calls each of them: `for epoch in range(start, epochs)`, `while epoch < epochs`."""
    node = loop.site.node if loop.site is not None else None
    if isinstance(node, cst.While) and isinstance(node.test, cst.Comparison) and len(node.test.comparisons) == 1:
        below = isinstance(node.test.comparisons[0].operator, (cst.LessThan, cst.LessThanEqual))
        return node.test.left.value if below and isinstance(node.test.left, cst.Name) else ""
    return node.target.value if isinstance(node, cst.For) and isinstance(node.target, cst.Name) and begins(loop) is not None else ""
