"""An option that says whether to use the GPU, asked where one of two that meet is moved, and not where the other is.

`--no-cuda` on a machine with a GPU: `model.cuda()` stands under `if args.cuda`, and `x.cuda()` does not. Without a GPU the latter
raises by itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Instance, Opaque, Value, real
from torchlint.files.project import without_comments
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import conditional, conditions_of

_ARGS = r"(?:args|opts?|options|params|flags|FLAGS|hparams|config|cfg|conf)"
_FLAG = r"(?:(?:no|use|enable|disable)_?(?:cuda|gpu)|cuda)"
_ASKED = re.compile(rf"(?P<not>not\s+)?(?P<owner>(?:self\.)?{_ARGS}\.|self\.)?(?P<name>{_FLAG})", re.IGNORECASE)
_OF_OPTION = re.compile(rf"(?<![\w.])(?:self\.)?{_ARGS}\.({_FLAG})\b", re.IGNORECASE)


class Forgotten(NamedTuple):
    """What stays behind when the GPU is not asked for: in which case, in words; whether it is the model; and where the other is moved."""

    case: str
    is_model: bool
    moved: Site


def asked_for_one(view: View, event: Event) -> Forgotten | None:
    """Of a call of a model: what is moved only where an option asks for the GPU, if the other one of model and input always is."""
    model = event.subject
    if not isinstance(model, Instance) or model.kind != "module" or event.get("wrapped") or event.get("inside") or not event.args:
        return None
    moves, given = view.about("module.move", model), real(event.args[0])
    if not moves or any(move.device != "cuda" for move in moves) or not any(id(alt) in view.run.moved for alt in given):
        return None
    if event.get("device") == "cuda" and not any(conditional(move.site) for move in moves):
        return _input_stays(view, event, given, moves[-1].site)
    asked = [case for move in moves if (case := _asked(view, move.site)) is not None]
    return _model_stays(view, event, asked[0], given) if len(asked) == len(moves) else None


def _model_stays(view: View, event: Event, asked: str, given: tuple[Value, ...]) -> Forgotten | None:
    placed = [view.run.moved.get(id(alt), (None, None)) for alt in given]
    if any(device != "cuda" or conditional(site) for device, site in placed) or _speaks_of(event.site, asked):
        return None
    return Forgotten(asked, True, placed[0][1])


def _input_stays(view: View, event: Event, given: tuple[Value, ...], moved: Site) -> Forgotten | None:
    if len(given) != 2:
        return None
    for here, there in (given, given[::-1]):
        device, site = view.run.moved.get(id(here), (None, None))
        if device == "cuda" and id(there) not in view.run.moved and isinstance(here, Opaque) and here.origin is there:
            asked = _asked(view, site)
            return None if asked is None or _speaks_of(event.site, asked) else Forgotten(asked, False, moved)
    return None


def _asked(view: View, site: Site) -> str | None:
    """The one condition that a place stands under, if it asks an option for the GPU: as the words that say when it does not hold."""
    conditions = conditions_of(site)
    if len(conditions) != 1:
        return None
    (text, holds), = conditions
    found = _ASKED.fullmatch(text.strip())
    if found is None or not _is_option(view, site, found["owner"] or "", found["name"]):
        return None
    return f"{'without' if holds is (found['not'] is None) else 'with'} `{text.strip().removeprefix('not ').strip()}`"


def _speaks_of(site: Site, asked: str) -> bool:
    """Whether a place stands under the same condition, or its contrary."""
    name = asked.split("`")[1]
    return any(name in text for text, _ in conditions_of(site))


def _is_option(view: View, site: Site, owner: str, name: str) -> bool:
    """Whether who runs the program says it: a switch of the command line, or what is made of one; nothing else sets it, and no program
    ends where it is off."""
    facts = site.parsed.facts
    project = view.run.world.project_of(facts.path)
    others = [file.code for path, file in project.files.items() if path != facts.path] if project is not None else []
    own = without_comments(facts.lines)
    full = re.escape(owner) + name
    values = [value for text in (own, *(others if owner else ())) for value in re.findall(rf"(?m)^[ \t]*{full}[ \t]*=(?!=)(.*)$", text)]
    made_of = [_OF_OPTION.search(value) for value in values]
    options = {found[1] for found in made_of if found is not None} if values else {name}
    ends = re.compile(rf"\bassert\b[^\n]*\b{full}\b|\bif\s+not\s+{full}\s*:\s*(?:raise\b|exit\(|sys\.exit\(|return\b)")
    return (
        None not in made_of
        and all(any(_switch(option).search(text) for text in (own, *others)) for option in options)
        and not any(ends.search(text) for text in (own, *others))
    )


def _switch(option: str) -> re.Pattern[str]:
    """An argument of the command line that is on or off."""
    spelt = option.replace("_", "[-_]")
    kind = r"store_true|store_false|type\s*=\s*(?:bool|str2bool)|default\s*=\s*(?:True|False)"
    return re.compile(rf"add_argument\([^)]*[\"']--?{spelt}[\"'][^)]*(?:{kind})")
