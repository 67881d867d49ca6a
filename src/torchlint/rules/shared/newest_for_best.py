"""Best scores that are read out of a checkpoint where the newest score stands: `best_acc = checkpoint["acc"]`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site, dotted
from torchlint.dryrun.values import Event, Loop
from torchlint.rules.base import View
from torchlint.rules.shared.best_scores import compared, deciding, training_of
from torchlint.rules.shared.blocks import exclude_each_other, heads_of
from torchlint.rules.shared.checkpoints import kept_in, left_out, put_together
from torchlint.rules.shared.handed_over import handed_over
from torchlint.sieve.facts import FileFacts

_READ = re.compile(r"\s*((?:self\.)?\w*best\w*)\s*=\s*(\w+)\[\s*[\"']([^\"']+)[\"']\s*\]\s*$", re.IGNORECASE)
_BEST = re.compile("best", re.IGNORECASE)
_ENOUGH = 2  # keys that are asked of what is loaded, so that it is what is written


@dataclass(slots=True, frozen=True)
class Mistaken:
    """Where a checkpoint is written, the key of the newest score in it, what that is called, the best score that it is taken for, and the
    row of that."""

    site: Site
    key: str
    newest: str
    best: str
    row: int


def newest_for_best(view: View) -> Iterator[Mistaken]:
    """Where the training goes on from a checkpoint of each epoch, the best score begins at the last one: a worse model may write over the
    file that was best."""
    told: set[str] = set()
    for save in view.of("save"):
        training, known = training_of(view, save), kept_in(view, save) or {}
        if training is None or _where_better(view, save):
            continue
        for best, key, row in _read_back(training, set(known)):
            newest = _compared_with(best, training)
            if best in told or newest is None or _given(save, key, training) != newest or best not in deciding(view):
                continue
            told.add(best)
            yield Mistaken(left_out(save, training.site), key, newest, best, row)


def _where_better(view: View, save: Event) -> bool:
    """Whether a file is written, or what stands in it is put together, only where something is best."""
    made = put_together(save)
    heads = [line for line in heads_of(made.parsed.facts.lines, made.location().row) if line.lstrip().startswith(("if ", "if(", "elif "))]
    return any(_BEST.search(line) for line in heads) or any(_BEST.search(compared(view, guard).text()) for guard in save.guards)


def _read_back(training: Loop, keys: set[object]) -> Iterator[tuple[str, str, int]]:
    """The best scores that are read out of what is loaded before a training, by which key, and where."""
    facts, span = training.site.parsed.facts, training.site.location()
    lines = [line.split("#", 1)[0].rstrip() for line in facts.lines]
    for row, line in enumerate(lines, 1):
        read = _READ.match(line)
        if read is None or span.row <= row <= (span.end_row or span.row) or read[3] not in keys or _BEST.search(read[3]):
            continue
        asked = {key for other in lines for key in re.findall(rf"(?<![\w.]){read[2]}\[\s*[\"']([^\"']+)[\"']\s*\]", other)}
        if len(asked) >= _ENOUGH and asked <= keys and _loaded(read[2], lines) and not _set_behind(read[1], row, facts, span.row):
            yield read[1], read[3], row


def _loaded(name: str, lines: list[str]) -> bool:
    """Whether a name is given what stands in a file, which is not the best one by its name."""
    given = re.compile(rf"\s*{name}\s*=\s*(.*)")
    values = [found[1] for line in lines if (found := given.match(line)) is not None]
    loads = [value for value in values if "torch.load(" in value]
    return bool(loads) and not any(_BEST.search(value) for value in values)


def _set_behind(best: str, row: int, facts: FileFacts, end: int) -> bool:
    """Whether a best score is set to something else between where it is read and the training."""
    word = re.compile(rf"(?<![\w.]){re.escape(best)}\s*(?:=[^=]|,)")
    between = range(row + 1, end)
    return any(word.search(facts.lines[at - 1].split("#", 1)[0]) and not exclude_each_other(facts.lines, row, at) for at in between)


def _compared_with(best: str, training: Loop) -> str | None:
    """The name that a training compares with a best score."""
    lines, span = training.site.parsed.facts.lines, training.site.location()
    name = re.escape(best)
    asked = re.compile(rf"(?<![\w.])([A-Za-z_]\w*)\s*[<>]=?\s*{name}\b(?![\w.\[(])|(?<![\w.]){name}\s*[<>]=?\s*([A-Za-z_]\w*)\b(?![\w.\[(])")
    found = {one[1] or one[2] for line in lines[span.row - 1 : span.end_row] for one in asked.finditer(line.split("#", 1)[0])}
    return found.pop() if len(found) == 1 else None


def _given(save: Event, key: str, training: Loop) -> str | None:
    """What stands under a key of a dict that is written, as the training's function calls it, or hands it to a helper."""
    made = getattr(save.subject, "site", None)
    if made is None or not isinstance(made.node, cst.Dict):
        return None
    elements = (one for one in made.node.elements if isinstance(one, cst.DictElement) and made.parsed.text(one.key).strip("\"'") == key)
    given, parsed = next((made.parsed.text(one.value) for one in elements), None), made.parsed
    for call in reversed(save.calls):
        if given is not None and parsed.unit is not training.site.parsed.unit and _calls(call, parsed):
            given, parsed = handed_over(call, parsed.unit.params).get(given), call.parsed
    return given if parsed.unit is training.site.parsed.unit else None


def _calls(call: Site, inner: Parsed) -> bool:
    """Whether a call is one of a function, by its name."""
    return isinstance(call.node, cst.Call) and dotted(call.node.func).rpartition(".")[2] == inner.unit.name
