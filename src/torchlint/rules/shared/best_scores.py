"""Best scores that decide which file is kept, and begin anew where a training is gone on with."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import happens_after
from torchlint.dryrun.guards import Guard
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Loop, Opaque, from_file, real
from torchlint.rules.base import View
from torchlint.rules.mends.rows import text_of
from torchlint.rules.shared.asked_scores import NAME, score_asked
from torchlint.rules.shared.blocks import heads_of
from torchlint.rules.shared.checkpoints import files_of
from torchlint.rules.shared.file_names import Bindings, Hole, Name, bindings_of
from torchlint.rules.shared.goes_on import weights_gone_on_from
from torchlint.rules.shared.handed_over import handed_over
from torchlint.rules.shared.kept_schedules import for_something_else
from torchlint.sieve.facts import FileFacts

_BETTER = re.compile(rf"\(?[^<>=]+[<>]=?\s*(?P<right>{NAME})\s*\)?$|\(?\s*(?P<left>{NAME})\s*[<>]=?[^<>=]+$", re.IGNORECASE)
_NUMBER = re.compile(r"None$|-?\s*(?:\d[\d._]*(?:e[-+]?\d+)?|(?:np|numpy|math|torch|sys)\.(?:inf|maxsize)|float\(\s*[\"'][-+]?inf\w*[\"']\s*\))$", re.IGNORECASE)
_WHOLE_OPTIMIZER = re.compile(r"\s*[\w.]*optim\w*\s*=\s*\w+\[\s*[\"']\w*optim\w*[\"']\s*\]", re.IGNORECASE)
_COPIES = ("shutil.copyfile", "shutil.copy", "shutil.copy2")
# Each run writes into a folder of its own, or values are set by their names: not where they are only shown (`s.format(**self.__dict__)`,
# `"args": vars(args)`).
_SHOWN = r"\.(?:items|keys|values|get)\(|\[[^\]]*\](?!\s*=[^=])"  # `models.__dict__[args.arch]` is one of them
_APART = re.compile(
    rf"strftime|isoformat|\bnow\(|increment_path|mkdtemp|uuid|\bsetattr\(|\bglobals\("
    rf"|(?<!\.format\(\*\*self\.)__dict__(?!{_SHOWN})|\*\*vars\(|(?<!: )\bvars\((?![\w.]+\)(?:{_SHOWN}|\s*[,)}}]))"
)
_GONE_THROUGH = re.compile(r"\bin\s+[\w.]+\.__dict__(?![\w.\[])")  # asks what names there are: `sorted(name for name in models.__dict__`
_OF_ITSELF = re.compile(r"\bself\.__dict__|\bsetattr\(self,")  # sets attributes of an object, and no variable


def forgotten(view: View) -> Iterator[tuple[Site, str, str, bool]]:
    """Where one file is written over if a score is better than the best one so far, what that is called, and the number that it begins
    at, in a training that goes on from a checkpoint, too; whether it is set to that behind what a checkpoint said."""
    told: set[str] = set()
    for save in _written(view):
        training = training_of(view, save)
        scores = [*_asked(view, save, training)] if training is not None and _is_one_file(save, training) else []
        if not scores or not (_is_gone_on_with(view, save, training) or _weights_are_gone_on_with(view, save, training)):
            continue
        for name, asked in scores:
            first = _begins_at(view, save, name, asked.location().row, training) if name not in told else None
            if first is not None:
                told.add(name)
                place = next((site for site in (save.site, *reversed(save.calls)) if site.parsed.unit is asked.parsed.unit), save.site)
                yield place, name, first, _is_set_anew(name, training)


def _written(view: View) -> list[Event]:
    return [*view.of("save"), *(event for event in view.of("unknown") if event.get("name") in _COPIES)]


def deciding(view: View) -> set[str]:
    """The best scores that decide whether a file is written in a training."""
    trainings = ((save, training_of(view, save)) for save in _written(view))
    return {name for save, training in trainings if training is not None for name, _ in _asked(view, save, training)}


def training_of(view: View, save: Event) -> Loop | None:
    """The loop over the epochs that a file is written in."""
    outer = save.loops[0] if save.loops else None
    trains = outer is not None and not outer.once and outer.site is not None and any(outer in step.loops for step in view.steps())
    return outer if trains else None


def _is_gone_on_with(view: View, save: Event, training: Loop) -> bool:
    """Whether the state of an optimizer is loaded before the training, or a whole optimizer."""
    return _steps_out_of_a_file(view, save, training) or any(
        not load.loops and load.serial < save.serial and any(map(from_file, real(load.get("state")))) and any(map(_is_optimizer, real(load.subject)))
        and not for_something_else(load) and happens_after(load, {save}.__contains__)
        for load in view.of("load")
    )


def _steps_out_of_a_file(view: View, save: Event, training: Loop) -> bool:
    """Whether an optimizer that was read out of a file before a training steps in it: `optimizer = checkpoint["optimizer"]`."""
    steps = (step for step in view.steps() if training in step.loops and step.serial < save.serial)
    read = (alt for step in steps for alt in real(step.subject) if isinstance(alt, Opaque) and from_file(alt) and _is_optimizer(alt))
    above = training.site.parsed.facts.lines[: training.site.location().row - 1]
    return any(True for _ in read) and any(map(_WHOLE_OPTIMIZER.match, above))  # not only where the rate falls: `checkpoint = torch.load(best)`


def _weights_are_gone_on_with(view: View, save: Event, training: Loop) -> bool:
    """Whether weights alone are loaded, in so many words to go on from: there may be no state of an optimizer."""
    steps = (step for step in view.steps() if training in step.loops and step.serial < save.serial)
    pairs = {id(optimizer): (step, optimizer) for step in steps for optimizer in real(step.subject)}
    return any(weights_gone_on_from(view, step, optimizer) is not None for step, optimizer in pairs.values())


def _is_optimizer(value: object) -> bool:
    if isinstance(value, Instance):
        return value.kind == "optimizer"
    return isinstance(value, Opaque) and ("optimizer" in value.tags or "optim" in (value.name or "").lower())


def _asked(view: View, save: Event, training: Loop) -> Iterator[tuple[str, Site]]:
    """The best scores that a condition of a file's writing compares with, and where it does; of one that a helper is handed, what the
    training calls it, and where it hands it over."""
    for guard in save.guards:
        asked = compared(view, guard)
        found = _BETTER.match(asked.text()) if guard.holds else None
        name = (found["right"] or found["left"]) if found is not None else score_asked(asked, guard.holds)
        known = _as_handed_over(name, asked, save, training) if name is not None else None
        if known is not None and known[1].parsed.facts is training.site.parsed.facts:
            yield known


def _as_handed_over(name: str, asked: Site, save: Event, training: Loop) -> tuple[str, Site] | None:
    """What a best score is called where the training hands it to the helper that asks, `best = save_if_better(loss, best, model)`, with that
    place; as it stands where it is no parameter, or the training's own. None where something else than a best score is handed over, or one
    that the training never sets."""
    chain = [*save.calls, save.site]
    for call, inner in reversed([*zip(chain, chain[1:], strict=False)]):
        unit = asked.parsed.unit
        if unit is training.site.parsed.unit or name not in unit.params:
            break
        if inner.parsed.unit is not unit or call.parsed.unit is unit:
            continue
        name, asked = handed_over(call, unit.params).get(name, ""), call
        if not re.fullmatch(NAME, name, re.IGNORECASE):
            return None
    if asked in chain and not any(map(_span_of(training).__contains__, (row for row, _ in _sets(asked.parsed.facts, name)))):
        return None
    return name, asked


def _span_of(training: Loop) -> range:
    at = training.site.location()
    return range(at.row, (at.end_row or at.row) + 1)


def compared(view: View, guard: Guard) -> Site:
    """What a condition asks; of a name what that is set to: `is_best = acc > best`, and `if is_best:` in a helper."""
    if not guard.site.text().strip("()").isidentifier():
        return guard.site
    sets = (event.site for event in view.of("assign") if any(event.subject is read for read in guard.reads))
    return next((Site(site.parsed, site.node.value) for site in sets if isinstance(site.node, cst.Assign)), guard.site)


def _is_one_file(save: Event, training: Loop) -> bool:
    """Whether the same file is written in each epoch: its name is made of nothing that the training sets."""
    inner, holes = None, []
    for site in (save.site, *reversed(save.calls)):
        try:
            names = ([] if inner is None else _names_handed_over(site, inner, holes)) or _names_at(save, site)
        except SyntaxError:
            return False
        if not names:
            return False
        holes = [part.text for name in names for part in name if isinstance(part, Hole)]
        params = set(site.parsed.unit.params) - {"self"}
        if params.isdisjoint(word for hole in holes for word in _WHOLE.findall(hole)) or site.parsed.unit is training.site.parsed.unit:
            return all(_stays(hole, site, training) for hole in holes)
        inner = site
    return False


def _names_at(save: Event, site: Site) -> list[Name]:
    """The names of the files that are written at a place, or are handed over there to be written."""
    names, row = bindings_of(text_of(site.parsed)), site.location().row
    if save.kind == "save":
        return [names.name(_nearest(names, value, function, site), function) for value, at, function in names.saves if at == row]
    path = site.node.args[1:2] if site is save.site else ()
    return [names.name(ast.parse(site.parsed.text(path[0].value), mode="eval").body, names.scope_at(row))] if path else []


def _names_handed_over(call: Site, inner: Site, holes: list[str]) -> list[Name]:
    """What a call hands to the function that a place stands in for the parts of a file's name: `save(state, is_best, args.save)`. What the
    function makes of them is made of what is handed over: `f"best_{epoch + 1}.pt"`."""
    names, row = bindings_of(text_of(call.parsed)), call.location().row
    given = handed_over(call, inner.parsed.unit.params)
    texts = [_WORD.sub(lambda word: given.get(word[0], word[0]), hole) for hole in holes if not given.keys().isdisjoint(_WORD.findall(hole))]
    return [names.name(ast.parse(text, mode="eval").body, names.scope_at(row)) for text in texts]


_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")  # a name, and not what is an attribute of something
_WHOLE = re.compile(r"(?<![\w.\"'])[A-Za-z_]\w*(?!\.\w+(?!\w*\()|[\w\"'(])")  # nor what an attribute is asked of
_TEMPLATE = re.compile(r"\bf(?:'[^']*'|\"[^\"]*\")")
_PUT_IN = re.compile(r"\{([^{}:!]*)")
# What makes the same text of the same one: `name.replace(".pth", "_best.pth")`.
_OF_A_TEXT = re.compile(r"\.(?:replace|strip|rstrip|removesuffix|split|rsplit)\((?:\s*(?:[\"'][^\"'(]*[\"']|\d+)\s*,?)*\)")


def _nearest(names: Bindings, value: ast.expr, function: int, site: Site) -> ast.expr:
    """What a name is set to over a place, on every way to it, where other places set it to something else."""
    text, row, lines = ast.unparse(value), site.location().row, site.parsed.facts.lines
    over = [given for given, at in names.given(text, function) if at == function and given.lineno < row]
    if not isinstance(value, ast.Name) or not over:
        return value
    given = max(over, key=lambda given: given.lineno)
    between = [line for line in lines[given.lineno - 1 : row] if line.strip()]
    margin = _margin(between[0])
    return given if all(_margin(line) >= margin for line in between) else value


def _stays(text: str, site: Site, training: Loop) -> bool:
    """Whether a part of a file's name is the same in each epoch: nothing is called, and its names are set outside the loop, and outside
    a function that the loop calls."""
    text = _OF_A_TEXT.sub("", text)
    names = set(re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", _TEMPLATE.sub(lambda found: " ".join(_PUT_IN.findall(found[0])), text)))
    unit = site.parsed.unit
    inner = unit is not training.site.parsed.unit
    if "(" in text or inner and names & (unit.binds | set(unit.params) - {"self"}):
        return False
    span = training.site.location()
    loop = "".join(training.site.parsed.facts.lines[span.row - 1 : span.end_row])
    return not any(re.search(rf"(?<![\w.]){re.escape(name)}\s*(?:[-+*/]?=(?!=)|,[^=\n]*=(?!=)|(?:,\s*\w+\s*\)?)?\s+in\b)", loop) for name in names)


def _begins_at(view: View, save: Event, name: str, row: int, training: Loop) -> str | None:
    """The number that a best score is before the training, if nothing else than the training sets it, behind the row that asks."""
    begun = None
    trained = _rows_of(save, training)
    own = [(site.parsed.facts, site.parsed.unit) for site in (*save.calls, save.site) if name in site.parsed.unit.params]
    own = [(facts, unit) for facts, unit in own if unit is not training.site.parsed.unit]  # of these it is a variable of their own
    for facts in files_of(view, save):
        lines = (_GONE_THROUGH.sub("", line.split("#", 1)[0]) for line in facts.lines)
        if any(_APART.search(line if "." in name else _OF_ITSELF.sub("", line)) for line in lines):
            return None
        for at, value in _last_of(_sets(facts, name), training) if facts is training.site.parsed.facts else _sets(facts, name):
            if any(facts is inner and unit.start <= at <= unit.end for inner, unit in own):
                continue
            in_training = any(facts is inner and first <= at <= last for inner, first, last in trained)
            if in_training and at < row and _is_first(facts.lines, at, name):
                continue
            if in_training and at < row or not in_training and (value is None or not _NUMBER.match(value)):
                return None
            begun = begun if in_training else value
    return begun


def _is_first(lines: list[str], row: int, name: str) -> bool:
    """Whether a score is set only where there was none yet: `if self.best_score is None: self.best_score = score`."""
    return any(re.match(rf"\s*if\s*\(?\s*{re.escape(name)}\s+is\s+None\s*\)?\s*:", line) for line in heads_of(lines, row))


def _last_of(sets: Iterator[tuple[int, str | None]], training: Loop) -> list[tuple[int, str | None]]:
    """Without what a name was set to before it is set to a number in front of the training, whatever came before: `best = 0.0` behind
    `best = checkpoint["best"]`."""
    lines, head = training.site.parsed.facts.lines, training.site.location().row
    margin, found = _margin(lines[head - 1]), list(sets)
    begins = next((at for at in range(head - 1, 0, -1) if lines[at - 1].strip() and _margin(lines[at - 1]) < margin), 0)
    numbers = [at for at, value in found if begins < at < head and value is not None and _NUMBER.match(value) and _margin(lines[at - 1]) == margin]
    return [(at, value) for at, value in found if not numbers or not begins < at < numbers[-1]]


def _is_set_anew(name: str, training: Loop) -> bool:
    """Whether something else than a number was set in front of the training, which `_last_of` has left out."""
    found = list(_sets(training.site.parsed.facts, name))
    kept = _last_of(iter(found), training)
    return any(value is None or not _NUMBER.match(value) for _, value in (one for one in found if one not in kept))


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())


def _rows_of(save: Event, training: Loop) -> list[tuple[FileFacts, int, int]]:
    """The rows of a loop, and of the functions by which it comes to what is saved."""
    span, own = training.site.location(), training.site.parsed
    last = span.end_row or span.row
    chain = [*save.calls, save.site]
    at = next((at for at, site in enumerate(chain) if site.parsed.unit is own.unit and span.row <= site.location().row <= last), len(chain))
    inner = [(site.parsed.facts, site.parsed.unit) for site in chain[at + 1 :]]
    return [(own.facts, span.row, last), *((facts, unit.start, unit.end) for facts, unit in inner)]


def _sets(facts: FileFacts, name: str) -> Iterator[tuple[int, str | None]]:
    """The rows that set a name, or an attribute of whatever object, and what to; None where that is not seen."""
    last = re.escape(name.rpartition(".")[2])
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\b" if "." not in name else rf"(?<!\w){re.escape(name)}\b|\.{last}\s*=")
    for at, line in enumerate(facts.lines, 1):
        line = re.sub(r"[<>!=]=", "~~", line.split("#", 1)[0].rstrip())  # of the signs, those that set something
        if not word.search(line):
            continue
        targets, sign, value = line.partition("=")
        parts, values = [part.strip() for part in targets.split(",")], value.split(",")
        if re.match(r"\s*(?:async\s+def|def|for|with|import|from)\b", line):
            yield at, None
        elif sign and len(parts) == len(values) and name in parts:
            yield at, values[parts.index(name)].strip()
        elif sign and name == parts[0].partition(":")[0].strip():
            yield at, value.strip()
        elif sign and word.search(targets) and re.fullmatch(r"[\s\w.,()\[\]]+", targets) or re.search(rf"(?<!\w){last}\s*=", line):
            yield at, None  # with others, as a keyword, or of another object
