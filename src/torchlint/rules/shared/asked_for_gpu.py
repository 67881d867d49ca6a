"""An option that says whether to use the GPU, asked where one of two that meet is moved, and not where the other is: model and input, or
scores and labels.

`--no-cuda` on a machine with a GPU: `model.cuda()` stands under `if args.cuda`, and `x.cuda()` does not. Without a GPU the latter
raises by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Tensor, Value, real
from torchlint.files.project import without_comments
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import conditions_of
from torchlint.rules.shared.devices import placed_at
from torchlint.rules.shared.placing import names_its_place

_ARGS = r"(?:args|opts?|options|params|flags|FLAGS|hparams|config|cfg|conf)"
_FLAG = r"(?:(?:no|use|enable|disable)_?(?:cuda|gpu)|cuda|(?:use_?)?cpu)"
_ASKED = re.compile(rf"(?P<not>not\s+)?(?P<owner>(?:self\.)?{_ARGS}\.|self\.)?(?P<name>{_FLAG})", re.IGNORECASE)
# `--gpu 0`, for the number of one: `if args.gpu is not None: model.cuda(args.gpu)`
_GIVEN = re.compile(rf"(?P<owner>(?:self\.)?{_ARGS}\.)(?P<name>gpus?|gpu_?ids?|cuda|device)(?P<given>\s+is\s+(?P<not>not\s+)?None)", re.IGNORECASE)
# `--ngpu 0`, for how many, or `--gpu -1`: `if args.ngpu > 0: model.cuda()`
_COUNTED = re.compile(
    rf"(?P<owner>(?:self\.)?{_ARGS}\.)(?P<name>(?:n|num|n_|num_)?gpus?(?:_?(?:id|num|count))?|device(?:_?id)?)"
    r"(?P<given>\s*(?:>\s*0|>=\s*[01]|!=\s*0|>\s*-\s*1|!=\s*-\s*1))(?P<not>)", re.IGNORECASE
)
_FOR_THE_CPU = re.compile(r"no_?|disable|(?:use_?)?cpu$", re.IGNORECASE)
_OF_OPTION = re.compile(rf"(?<![\w.])(?:self\.)?{_ARGS}\.({_FLAG})\b", re.IGNORECASE)

_A_GPU = re.compile(r"f?[\"']cuda\b")
_THE_CPU = re.compile(r"[\"']cpu[\"']")
_IS_THERE = re.compile(r"(?:torch\.)?cuda\.is_available\(\)")
_PUT_TOGETHER = re.compile(r"\bor\b|\bif\b|\blambda\b|\bfor\b")


class Forgotten(NamedTuple):
    """What stays behind when the GPU is not asked for: in which case, in words; of what the user has a name for; and where the other is
    moved."""

    case: str
    value: Value
    moved: Site


def asked_for_one(view: View, event: Event) -> Forgotten | None:
    """Of a call of a model: what is moved only where an option asks for the GPU, if the other one of model and input always is."""
    model = event.subject
    if not isinstance(model, Instance) or model.kind != "module" or event.get("wrapped") or event.get("inside"):
        return None
    moves = view.about("module.move", model)
    if not moves or not all(map(_to_gpu, moves)):
        return None
    found = (_of_input(view, event, moves, value) for value in _inputs(event))
    return next((one for one in found if one is not None), None)


def _inputs(event: Event) -> list[Value]:
    """What a model is given: the first argument, or what is passed by name to a forward that has no use for another device."""
    if event.args:
        return [event.args[0]]
    return [value for name, value in (event.get("kwargs") or {}).items() if not names_its_place(event.subject, name)]


def _of_input(view: View, event: Event, moves: list[Event], value: Value) -> Forgotten | None:
    given = real(value)
    if event.get("device") == "cuda":
        always = [move.site for move in moves if _in_any_case(move.site, event.subject)]
        if always or not event.subject.under:
            return _input_stays(view, event, value, always[-1]) if always else None
    asked, site = _asked_of_all(view, moves, event.subject), _moved_in_any_case(view, given, event.site)
    return None if asked is None or site is None or _speaks_of(event, asked) else Forgotten(asked, event.subject, site)


def _in_any_case(move: Site, model: Instance) -> bool:
    """Whether a model is moved whatever is asked for, wherever it is made: in the block that makes it, say."""
    made = _conditions(model.site) if model.site is not None and model.site.parsed.facts is move.parsed.facts else frozenset()
    return _conditions(move) <= made


def scores_stay(view: View, event: Event) -> Forgotten | None:
    """Of a loss: the scores of a model that is moved only where an option asks for the GPU, as its input is, if the labels always are."""
    forward, scores = event.source, real(event.input)
    if forward is None or forward.get("wrapped") or forward.get("inside") or len(scores) != 1 or not _straight_out_of(view, scores[0], forward):
        return None
    moves = view.about("module.move", forward.subject)
    if not isinstance(forward.subject, Instance) or forward.subject.kind != "module" or not moves or not all(map(_to_gpu, moves)):
        return None
    asked, site = _asked_of_all(view, moves, forward.subject), _moved_in_any_case(view, real(event.target), event.site)
    if asked is None or site is None or _speaks_of(event, asked) or not forward.args:
        return None
    inputs = [view.run.moved[id(alt)] for alt in real(forward.args[0]) if id(alt) in view.run.moved]
    return Forgotten(asked, event.input, site) if all(_asked_or_chosen(view, device, moved) == asked for device, moved in inputs) else None


def _to_gpu(move: Event) -> bool:
    return move.device == "cuda" or move.get("name") == "cuda" or _chosen_by(move.device) is not None


def _chosen_by(device: Any) -> tuple[Site, frozenset[tuple[str, bool]]] | None:
    """Where a device is made, and the conditions that make it a GPU instead of the CPU: `torch.device("cuda" if args.cuda else "cpu")`."""
    call = device.site.node if isinstance(device, Instance) and device.kind == "device" and device.site is not None else None
    chosen = call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None
    if not isinstance(chosen, cst.IfExp):
        return None
    text = device.site.parsed.text
    conditions = _choosing(text(chosen.test), text(chosen.body), text(chosen.orelse))
    return (device.site, conditions) if conditions is not None else None


def _choosing(test: str, body: str, orelse: str) -> frozenset[tuple[str, bool]] | None:
    """The conditions that choose a GPU instead of the CPU."""
    of_gpu = [_A_GPU.match(text) is not None for text in (body, orelse)]
    of_cpu = [_THE_CPU.fullmatch(text) is not None for text in (body, orelse)]
    return _asked_of_options([(test, of_gpu[0])]) if of_gpu.count(True) == 1 and of_gpu == of_cpu[::-1] else None


def option_of_choice(view: View, site: Site, test: str, body: str, orelse: str) -> str | None:
    """The option that chooses between two devices, by the words of the choice: as the words that say when it is the CPU."""
    conditions = _choosing(test, body, orelse)
    return _option_of(view, site, conditions) if conditions is not None else None


def option_of_conditions(view: View, site: Site, conditions: frozenset[tuple[str, bool]]) -> str | None:
    """The one option that conditions ask for the GPU: as the words that say when they do not hold."""
    return _option_of(view, site, _asked_of_options(map(_closed, conditions)))


def _asked_or_chosen(view: View, device: Any, site: Site) -> str | None:
    """The option that says whether something goes to the GPU: by a condition around the move, or by the device that it is given."""
    chosen = _chosen_by(device)
    if chosen is None:
        return _asked(view, site)
    return _option_of(view, *chosen)


def _straight_out_of(view: View, scores: Value, forward: Event) -> bool:
    """Whether scores lie where the model lies that gave them: nobody moves them."""
    if not isinstance(scores, Tensor):
        return False
    return scores.traits.get("out_of") is forward and "device" not in scores.traits and id(scores) not in view.run.moved


def _asked_of_all(view: View, moves: list[Event], model: Instance) -> str | None:
    """The option that each move of a model stands under, or that chooses the device that it is moved to in any case."""
    asked = {
        _asked_or_chosen(view, move.device, move.site) if _chosen_by(move.device) is None or _in_any_case(move.site, model) else None
        for move in moves
    }
    return asked.pop() if len(asked) == 1 else None


def _moved_in_any_case(view: View, given: tuple[Value, ...], met: Site) -> Site | None:
    """Where a value is brought to the GPU, whatever is asked for, wherever it is come to what it meets another in."""
    placed = [placed_at(view, alt) for alt in given]
    always = all(device == "cuda" and site is not None and _with(site, met) for device, site in placed)
    if placed and always:
        return placed[0][1]
    for (alt, other), (device, site) in zip((given, given[::-1]) if len(given) == 2 else (), placed):
        # Of one that is moved where there is a GPU the other way is of a machine that has none.
        if device == "cuda" and site is not None and _with(site, met) and _where_there_is_one(site) and isinstance(alt, Opaque) and alt.origin is other:
            return site
    return None


def _where_there_is_one(site: Site) -> bool:
    """Whether a place is left out by a machine without a GPU, and by nothing in its own line: `x.cuda() if args.cuda else x`."""
    asked = [part for text, holds in map(_closed, conditions_of(site)) if holds for part in _parts(text)]
    return any(map(_IS_THERE.fullmatch, asked)) and not any(isinstance(node, (cst.IfExp, cst.BooleanOperation)) for node in site.parsed.around(site.node))


def _with(site: Site, met: Site) -> bool:
    """Whether a place stands under no condition that another one of its function does not."""
    return _conditions(site) <= (_conditions(met) if site.parsed.unit is met.parsed.unit else frozenset())


def _input_stays(view: View, event: Event, value: Value, moved: Site) -> Forgotten | None:
    given = real(value)
    placed = [placed_at(view, alt) for alt in given]
    if placed and all(site is not None and _chosen_by(device) is not None for device, site in placed):
        options = {_asked_or_chosen(view, device, site) for device, site in placed}
        asked = options.pop() if len(options) == 1 else None
        return None if asked is None or _speaks_of(event, asked) else Forgotten(asked, value, moved)
    if len(given) != 2:
        return None
    for here, there in (given, given[::-1]):
        device, site = view.run.moved.get(id(here), (None, None))
        if device == "cuda" and id(there) not in view.run.moved and isinstance(here, Opaque) and here.origin is there:
            asked = _asked(view, site)
            return None if asked is None or _speaks_of(event, asked) else Forgotten(asked, value, moved)
    return None


def _asked(view: View, site: Site) -> str | None:
    """The one condition that a place stands under, if it asks an option for the GPU: as the words that say when it does not hold."""
    return _option_of(view, site, _conditions(site))


def _option_of(view: View, site: Site, conditions: frozenset[tuple[str, bool]]) -> str | None:
    if len(conditions) != 1:
        return None
    (text, holds), = conditions
    found = next((found for form in (_ASKED, _GIVEN, _COUNTED) if (found := form.fullmatch(text.strip())) is not None), None)
    if found is None or not _is_option(view, site, found):
        return None
    name = f"{found['owner'] or ''}{found['name']}"
    if found.re is _COUNTED:
        return f"unless `{name}{found['given']}`" if holds else None
    on = holds is ((found["not"] is None) is (found.re is _ASKED))
    return f"{'without' if on else 'with'} `{name}`"


def _conditions(site: Site) -> frozenset[tuple[str, bool]]:
    """The conditions that a place stands under, but for the one that the file is the program, and that there is a GPU, which is asked of the
    machine alone: `torch.cuda.is_available() and args.cuda` is `args.cuda` where there is one."""
    return _asked_of_options(map(_closed, conditions_of(site)))


def _asked_of_options(asked: Iterable[tuple[str, bool]]) -> frozenset[tuple[str, bool]]:
    found = ((part, holds) for text, holds in asked for part in (_parts(text) if holds else (text,)))
    return frozenset((text, holds) for text, holds in found if not text.startswith("__name__") and not (holds and _IS_THERE.fullmatch(text)))


def _closed(condition: tuple[str, bool]) -> tuple[str, bool]:
    """A condition with the bracket at its end that is left out as if it were around the whole."""
    text, holds = condition
    return (text + ")" if text.count("(") == text.count(")") + 1 else text), holds


def _parts(text: str) -> list[str]:
    """What has to hold for a condition to hold, if nothing in it is put together otherwise."""
    parts = [part.strip() for part in text.split(" and ")]
    return [text] if any(_PUT_TOGETHER.search(part) for part in parts) or any(part.count("(") != part.count(")") for part in parts) else parts


def _speaks_of(event: Event, asked: str) -> bool:
    """Whether something happens under the same condition, or its contrary, or the model that is called is made under it."""
    name = asked.split("`")[1].split(" ")[0]
    made = event.subject.site if isinstance(event.subject, Instance) else None
    return any(name in text for site in (made, event.site, *event.calls) if site is not None for text, _ in _conditions(site))


def _is_option(view: View, site: Site, asked: re.Match[str]) -> bool:
    """Whether who runs the program says it: a switch of the command line, or what is made of one; nothing else sets it, and no program
    ends where it is off."""
    owner, name, facts = asked["owner"] or "", asked["name"], site.parsed.facts
    project = view.run.world.project_of(facts.path)
    others = [file.code for path, file in project.files.items() if path != facts.path] if project is not None else []
    own = without_comments(facts.lines)
    full = re.escape(owner) + name
    values = [value for text in (own, *(others if owner else ())) for value in re.findall(rf"(?m)^[ \t]*{full}[ \t]*=(?!=)(.*)$", text)]
    made_of = [_OF_OPTION.search(value) for value in values]
    options = {found[1] for found in made_of if found is not None} if values else {name}
    off = rf"not\s+{full}|{full}\s+is\s+None|{full}\s*(?:==\s*-?\s*[01]|<=?\s*[01])"
    if _FOR_THE_CPU.match(name):
        off += rf"|{full}"
    ends = re.compile(rf"\bassert\b[^\n]*\b{full}\b|\bif\s+(?:{off})\s*:\s*(?:raise\b|exit\(|sys\.exit\(|return\b)")
    argument = _ARGUMENTS[asked.re]
    return (
        None not in made_of
        and all(any(argument(option).search(text) for text in (own, *others)) for option in options)
        and not any(ends.search(text) for text in (own, *others))
    )


def _switch(option: str) -> re.Pattern[str]:
    """An argument of the command line that is on or off, or 1 or 0: a number that is one of these where nothing is said, or that has to be
    said."""
    spelt = option.replace("_", "[-_]")
    kind = r"store_true|store_false|type\s*=\s*(?:bool|str2bool)|default\s*=\s*(?:True|False)"
    number = r"(?=[^)]*\btype\s*=\s*int\b)(?=[^)]*(?:default\s*=\s*[01]\b|required\s*=\s*True))"
    return re.compile(rf"add_argument\([^)]*[\"']--?{spelt}[\"'](?:[^)]*(?:{kind})|{number})")


def _left_out(option: str) -> re.Pattern[str]:
    """An argument of the command line that is None where nothing is said."""
    spelt = option.replace("_", "[-_]")
    return re.compile(rf"add_argument\((?![^)]*(?:default\s*=\s*(?!None\b)|required|action\s*=))[^)]*[\"']--?{spelt}[\"']")


def _number(option: str) -> re.Pattern[str]:
    """An argument of the command line that is a number, whichever is said."""
    spelt = option.replace("_", "[-_]")
    return re.compile(rf"add_argument\((?![^)]*\bchoices\s*=)[^)]*[\"']--?{spelt}[\"'][^)]*\btype\s*=\s*int\b")


_ARGUMENTS = {_ASKED: _switch, _GIVEN: _left_out, _COUNTED: _number}
