"""What several rules ask of the checkpoints that a program writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.arrays import is_numpys
from torchlint.dryrun.values import Const, Dict, Event, Instance, Opaque, Seq, Value, from_file, real
from torchlint.rules.base import View
from torchlint.sieve.facts import FileFacts


def checkpoints(view: View) -> Iterator[tuple[Event, set[str]]]:
    """The dicts and lists that are written by torch.save, and what is in them: "model", "optimizer", "scheduler", "scaler", "epoch", and
    "?" for a part that is not known. A dict of which not all is known is left out."""
    for event in view.of("save"):
        known = kept_in(view, event)
        if known is not None:
            yield event, {"constant" if _nothing(value) else _part(view, key, value) for key, value in known.items()}


def kept_in(view: View, event: Event) -> Mapping[object, Value] | None:
    """What is in a dict that is written, by its keys; in a list or tuple, by what its items are called, or where they stand. None where
    not all is known."""
    items = event.get("items")
    if items is not None:
        return None if items.open else items.known
    given = real(event.args[0]) if event.args else ()
    if len(given) != 1 or not isinstance(given[0], Seq) or not view.run.is_of_known_kinds(given[0]):
        return None
    listed = view.run.known_items(given[0])
    names = [next((alt.name for alt in real(item) if isinstance(alt, Opaque) and alt.source != "call" and alt.name), "") for item in listed]
    return {name if name and names.count(name) == 1 else at: item for at, (name, item) in enumerate(zip(names, listed, strict=True))}


def put_together(event: Event) -> Site:
    """Where a dict that is written is put together, if a function that writes whatever it is given does the rest; else where it is
    written."""
    made = getattr(event.subject, "site", None)
    if not isinstance(event.subject, Dict) or made is None:
        return event.site
    return made if any(call.parsed.unit is made.parsed.unit for call in event.calls) and made.parsed.unit is not event.site.parsed.unit else event.site


_SAVER = re.compile(r"save|store|dump|write|checkpoint|ckpt|snapshot", re.IGNORECASE)


def left_out(event: Event, *known: Site | None) -> Site:
    """Where something is left out of a dict that is written: where the dict is put together; or, where a helper of another file does
    that and no more, the call that hands it the rest. `known` are places in the files that know what is missing."""
    place = put_together(event)
    if not _SAVER.search(getattr(place.parsed.unit, "name", "")):
        return place
    files = [site.parsed.facts for site in known if site is not None]
    if not files or any(place.parsed.facts is facts for facts in files):
        return place
    return next((call for call in reversed(event.calls) if any(call.parsed.facts is facts for facts in files)), place)


def _nothing(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _part(view: View, key: object, value: Value) -> str:
    named = key.lower() if isinstance(key, str) else ""
    if "epoch" in named:
        return "epoch"
    for word, part in (("optim", "optimizer"), ("sched", "scheduler"), ("scaler", "scaler")):
        if word in named:
            return "number" if _told_alone(view, value) else part
    alts = real(value)
    kinds = _kinds(alts) or {_kind(alt) for alt in alts}
    if "?" in kinds and _FIGURE.search(named):
        return "number"
    if "?" in kinds and re.search(r"model|net|state_dict|weights", named) and all(_is_state(alt) for alt in real(value)):
        return "model"  # of one of several, or of something that is not known
    if kinds == {"constant", "number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "?"


def _kinds(alts: tuple[Value, ...]) -> set[str]:
    """Of what is not out of a file: what was loaded is what is saved."""
    return {_kind(alt) for alt in alts if not from_file(alt)}


def _told_alone(view: View, value: Value) -> bool:
    """Whether what stands under the name of an optimizer is what it is called, or how many steps it has taken: no state."""
    alts = real(value)
    return bool(alts) and all(isinstance(alt, Const) or isinstance(alt, Dict) and _has_figures_alone(view, alt) for alt in alts)


def _has_figures_alone(view: View, held: Dict) -> bool:
    items = view.run.items_now(held)
    known = [real(value) for value in items.known.values()] if items is not None and not items.open else []
    return bool(known) and all(kinds and kinds <= {"constant", "number"} for kinds in map(_kinds, known))


# What is told of a training under such a key is no state of anything.
_FIGURE = re.compile(
    r"^(?:(?:train|training|val|valid|validation|test|eval|dev|min|max|avg|mean|total|running|all|cur|current|last)_)*"
    r"(?:best|perf|performance|acc|accuracy|accuracies|top\d|loss|losses|score|scores|metric|f1|auc|bleu|m?iou|psnr|ssim|prec|precision|recall|error|ppl|iter|iteration"
    r"|step|global_step|num|args|opts?|config|cfg|arch|lr|history|result|seed|time|hparams|vocab|class|classes|version)(?:_|\d|s?$)"
)


def _is_state(value: Value) -> bool:
    return isinstance(value, Opaque) and "state_dict" in value.tags


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
    if isinstance(value, Instance) and value.kind in ("module", "wrapper") or isinstance(value, Opaque) and "module" in value.tags:
        return "model"  # the module itself
    if isinstance(value, Opaque) and (value.source in ("attr", "param", "op") or is_numpys(value)) and not value.flows:
        return "number"
    return "?"


def in_files(view: View, event: Event, pattern: str | re.Pattern[str]) -> bool:
    """Whether the file that saves, or another of the run, has a text, comments left out."""
    wanted = re.compile(pattern)
    in_code = lambda facts: any(wanted.search(line.split("#", 1)[0]) for line in facts.lines)
    return any(facts.once(wanted, partial(in_code, facts)) for facts in files_of(view, event))


def files_of(view: View, event: Event) -> list[FileFacts]:
    """The files that an event and what leads to it stand in, and the others of the run."""
    files = {id(site.parsed.facts): site.parsed.facts for site in (event.site, *event.calls)}
    files.update({id(tree.facts): tree.facts for tree in view.trees()})
    return list(files.values())


def in_files_that_run(
    view: View, event: Event, pattern: str | Callable[[str], object], commented: bool = False, without: Container[tuple[int, int]] = (),
) -> bool:
    """The same, of lines of functions that nobody names left out: what stands there is never done; in a program of its own, none of the
    files that it comes to. With `commented`, only of those functions whose call stands in a comment, and of those that a program has in
    another file. Rows of a file that the run is `without` are left out, too."""
    wanted = re.compile(pattern).search if isinstance(pattern, str) else pattern
    files = files_of(view, event)
    project = view.run.world.project_of(event.site.parsed.facts.path)
    program = _program_of(event)
    others = {path: file.code for path, file in project.files.items()} if project is not None and program is None else {}
    come_to = {id(other.site.parsed.unit) for other in view.run.graph.events if other.site is not None}
    return any(
        wanted(line.split("#", 1)[0]) and (id(facts), row) not in without and not _in_unnamed(files, facts, row, others, commented, come_to, program)
        for facts in files for row, line in enumerate(facts.lines, 1)
    )


def _program_of(event: Event) -> FileFacts | None:
    """The file that is run by itself, if an event is come to from its body: what other files would do with its functions is of other
    runs."""
    outermost = event.calls[0] if event.calls else event.site
    facts = outermost.parsed.facts
    found = any(item is outermost.parsed.unit for item in facts.body) and any(_MAIN.match(line) for line in facts.lines)
    return facts if found else None


_MAIN = re.compile(r"if\s*\(?\s*__name__\s*==")


def _in_unnamed(
    files: list[FileFacts], facts: FileFacts, row: int, others: dict[str, str], commented: bool, come_to: set[int], program: FileFacts | None,
) -> bool:
    """Whether a row stands in a function of its file that no other line of these files names, nor one of another file's, and that the
    run itself does not come to."""
    units = [*facts.functions.values(), *(unit for cls in facts.classes.values() for unit in cls.methods.values() if commented)]
    around = next((unit for unit in units if unit.start <= row <= unit.end), None)
    if around is None or id(around) in come_to:
        return False
    # As a name of a function: neither an option's (`args.resume`, `"--resume"`) nor that of an argument.
    option = r"(?<!args\.)(?<!opt\.)(?<!opts\.)(?<!self\.)(?<!cfg\.)(?<!config\.)"
    name = re.compile(rf"(?<![\w\-'\"]){option}{re.escape(around.name)}(?![\w'\"])(?!\s*=[^=])")
    apart = program is not None and facts is not program and facts.functions.get(around.name) is around
    if commented and not apart and not any(re.search(rf"#.*\b{re.escape(around.name)}\(", line) for file in files for line in file.lines):
        return False
    seen = {file.path for file in files}  # of these the lines are gone through below, their comments left out
    if any(path not in seen and around.name in code and name.search(code) for path, code in others.items()):
        return False
    return not any(
        name.search(line.split("#", 1)[0]) and not (file is facts and around.start <= number <= around.end)
        for file in files for number, line in enumerate(file.lines, 1)
    )
