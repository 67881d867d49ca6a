"""808: the state of a wrapper is saved, with its name in every key."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Dict, Event, Instance, Opaque, Value, exclude_each_other, from_file, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import in_files, in_files_that_run
from torchlint.rules.shared.written_wraps import loads_before_it_wraps

CODE = 808
_WRAPPERS = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DataParallel", "apex.parallel.DistributedDataParallel")

# The program knows of the name in the keys: it takes it off, or the wrapper. A call of what is wrapped, `model.module(x)`, says nothing.
# Nor does a variable of that name: `for module in model.modules(): module.bias`.
_KNOWS = (
    r"[\"'][\w.^(){}]*module\\?[.\"']|\bmodule\.(?:load_)?state_dict|\[7:\]|\.split\([\"']\.[\"'](?:,\s*1)?\)\[1:\]|\.module\b(?!\()|removeprefix"
)

_LOADS_A_MODEL = re.compile(r"(?<!optimizer)(?<!optim)(?<!scheduler)(?<!scaler)\.load_state_dict")


def check(view: View) -> Iterator[Report]:
    """`torch.save(ddp.state_dict(), path)` in a program that never loads such a state."""
    for event in view.of("save"):
        state = _state(view, event.args[0]) if event.args else None
        if state is None or state.site is None or in_files(view, event, _KNOWS) or _loaded(view, event):
            continue
        wrap = next((wrap for wrap in view.of("wrap") if wrap.subject is state.origin), None)
        if wrap is not None and not _expected(view, event.site.parsed.facts.path, _loaded_bare(view, wrap, event)):
            owner = state.site.text().rsplit(".state_dict", 1)[0]
            roles = {"model": owner if len(owner) <= 40 else "model", "wrapper": state.origin.type.rsplit(".", 1)[-1]}
            saved = [(event.site, "and saved here")] if _row(event.site) != _row(state.site) else []
            yield Report(CODE, state.site, roles, [(wrap.site, "wrapped here"), *saved])


def _loaded(view: View, event: Event) -> bool:
    """Whether the files of the run load a state of a model into what may be a wrapper, or where that is not seen."""
    loads = [alt for load in view.of("load") for alt in real(load.subject) if _may_be_model(alt)]
    if any(isinstance(alt, Instance) and alt.kind == "wrapper" for alt in loads):
        return True
    # A function beside the saving that nobody names may be what a framework calls; one of another file is a helper that was left over.
    own = any(_LOADS_A_MODEL.search(line.split("#", 1)[0]) for line in event.site.parsed.facts.lines)
    return not loads and (own or in_files_that_run(view, event, _LOADS_A_MODEL.pattern))


def _may_be_model(value: Value) -> bool:
    if isinstance(value, Instance):
        return value.kind in ("module", "wrapper")
    return isinstance(value, Opaque) and not value.tags & {"optimizer", "scheduler", "scaler"}


def _row(site: Site) -> int:
    return site.location().row


def _loaded_bare(view: View, wrap: Event, saved: Event) -> bool:
    """Whether the program itself loads a file into a model of the class that is wrapped, which is another one and never wrapped; what is
    loaded before the saving may be a teacher, and of another file."""
    wrapped = [alt for other in view.of("wrap") for alt in real(other.get("module"))]
    classes = {id(alt.cls) for alt in real(wrap.get("module")) if isinstance(alt, Instance) and isinstance(alt.cls, Class)}
    bare = lambda alt: isinstance(alt, Instance) and id(alt.cls) in classes and alt not in wrapped
    whole = lambda alt: isinstance(alt, Opaque) and alt.source == "call" and from_file(alt)
    return any(
        all(map(bare, real(load.subject))) and all(map(whole, real(load.get("state"))))
        for load in view.of("load")
        if real(load.subject) and real(load.get("state")) and (load.serial > saved.serial or exclude_each_other(load.guards, saved.guards))
    )


def _expected(view: View, path: str, bare: bool) -> bool:
    """Whether another file, beside this one or above or below it, is ready for the names: it loads a state into a wrapper, or
    loads one and takes the name off. What stands elsewhere in the repository reads other files, and so does what has a wrapper where the
    program itself loads into a bare model."""
    project = view.run.world.project_of(path)
    others = [file for file in project.files.values() if file.path != path] if project is not None else []
    near = [file.code for file in others if _near(os.path.dirname(file.path), os.path.dirname(path))]
    return any(
        not bare and _LOADS in code and _WRAPS.search(code) and not loads_before_it_wraps(code)
        or (_LOADS in code or "torch.load(" in code) and _UNWRAPS.search(code)
        for code in near
    )


def _near(one: str, other: str) -> bool:
    return one == other or one.startswith(other + os.sep) or other.startswith(one + os.sep)


_LOADS = "load_state_dict("
_WRAPS = re.compile(r"\b(?:DataParallel|DistributedDataParallel|DDP)\(")
_UNWRAPS = re.compile(r"[\"']module\.[\"']|\[7:\]")


def _state(view: View, value: Value) -> Opaque | None:
    """The state of a wrapper in what is saved, alone or in a dict, in one of the ways in which the model may be wrapped."""
    for alt in real(value):
        parts = [part for item in view.run.known_items(alt) for part in real(item)] if isinstance(alt, Dict) else [alt]
        for part in parts:
            state = _state_of(part)
            if state is not None:
                return state
    return None


def _state_of(value: Value) -> Opaque | None:
    if isinstance(value, Opaque) and "state_dict" in value.tags and isinstance(value.origin, Instance):
        if value.origin.kind == "wrapper" and value.origin.type in _WRAPPERS:
            return value
    return None
