"""905: a checkpoint that is resumed from lacks a part of the training's state."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Instance, Opaque, Ref, Value, exclude_each_other, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared import best_scores
from torchlint.rules.shared.carried_rates import carried
from torchlint.rules.shared.checkpoints import checkpoints, in_files, in_files_that_run, kept_in, left_out
from torchlint.rules.shared.counted_rates import counted_anew
from torchlint.rules.shared.crossed_files import crossed
from torchlint.rules.shared.early_states import taken_too_early
from torchlint.rules.shared.goes_on import weights_gone_on_from
from torchlint.rules.shared.kept_schedules import begun_anew, counts_by_itself, driven_by, moved_on
from torchlint.rules.shared.newest_for_best import newest_for_best

CODE = 905
CALLS = frozenset({"torch.load", "[]="})


def check(view: View) -> Iterator[Report]:
    """Model and epoch are saved and read back, and the optimizer, which remembers something, starts anew."""
    told = False
    for report in _in_dicts(view):
        told = True
        yield report
    for report in () if told else _schedule_alone(view):
        told = True
        yield report
    for report in () if told else _out_of_another_file(view):
        told = True
        yield report
    for report in () if told else _count_alone(view):
        told = True
        yield report
    for report in () if told else _rate_alone(view):
        told = True
        yield report
    for step, optimizer in () if told else _steps_with_memory(view):
        load = None if _loaded_instead(view, step) else weights_gone_on_from(view, step, optimizer)
        if load is not None:
            told = True
            roles = {"missing": getattr(optimizer, "name", "") or "optimizer", "problem": "is not loaded"}
            yield Report(CODE, load, roles, [(step.site, "it begins with no running averages")])
            break
    for report in () if told else _taken_too_early(view):
        yield report
    for place, name, first, anew in best_scores.forgotten(view):
        yield Report(CODE, place, {"missing": name, "first": first}, words=_SET_ANEW if anew else _BEST)
    for found in newest_for_best(view):
        yield Report(CODE, found.site, {"missing": found.best, "key": found.key, "newest": found.newest, "row": str(found.row)}, words=_NEWEST)


_BEST = (
    "training goes on from a checkpoint, and `{missing}` does not: it begins at `{first}` again, and the first epoch writes over the file "
    "that was best",
    "save `{missing}` in the checkpoint too, and load it with the rest",
)
_SET_ANEW = (
    "training goes on from a checkpoint, and `{missing}` does not: it is set to `{first}` again in front of the training, and the first epoch "
    "writes over the file that was best",
    "set `{missing}` to `{first}` before the checkpoint is read",
)
_NEWEST = (
    "what goes on from this checkpoint takes `{newest}` of its epoch for `{missing}` (`\"{key}\"`, line {row}): the next epoch that beats it "
    "writes over the file that was best",
    "save `{missing}` too, and load that",
)
# Where `torch` itself comes from a file that is missing (`from utils import *`), nothing but the name is known.
_BARE = frozenset({"Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "SGD"})


def _in_dicts(view: View) -> Iterator[Report]:
    yield from _one_of_several(view)
    yield from _of_an_accelerator(view)
    yield from _of_a_trainer(view)
    yield from _joined(_by_checkpoint(view))


def _joined(reports: Iterator[Report]) -> Iterator[Report]:
    """One report for what several checkpoints of a function lack for one reason, with the places of the others: the files of several models
    are written in turn, or the best one beside the last."""
    first: dict[tuple[object, ...], Report] = {}
    for report in reports:
        key = (id(report.site.parsed), *report.roles.values())
        if key in first:
            first[key].related.append((report.site, "nor is it in what is saved here"))
        else:
            first[key] = report
    yield from first.values()


def _by_checkpoint(view: View) -> Iterator[Report]:
    for event, parts in checkpoints(view):
        if "model" not in parts or "epoch" not in parts or not _resumed(view, event) or _loaded_instead(view, event):
            continue
        if "optimizer" not in parts and not parts & {"?"}:
            step = _with_memory(view)
            if step is not None and not in_files_that_run(view, event, r"optim\w*\.(?:load_)?state_dict"):
                roles = {"missing": getattr(step.subject, "name", "") or "optimizer", "problem": "is not in it"}
                yield Report(CODE, _place(event, step), roles, [(step.site, "its running averages are lost with the process")])
        elif "optimizer" in parts and (loaded := _model_alone_is_loaded(view, event)) is not None:
            step = next((step for step, optimizer in _steps_with_memory(view) if _may_update(view, optimizer, loaded.subject)), None)
            if step is not None:
                roles = {"missing": getattr(step.subject, "name", "") or "optimizer", "problem": "that it holds is never loaded"}
                related = [(event.site, "it is saved here"), (step.site, "it begins with no running averages")]
                yield Report(CODE, loaded.site, roles, related)
        elif "optimizer" in parts and not parts & {"scheduler", "?"}:
            step = _scheduler(view, event)
            if step is not None and not moved_on(view, event, step):
                roles = {"missing": getattr(step.subject, "name", "") or "scheduler", "problem": "is not in it"}
                yield Report(CODE, _place(event, step), roles, [(step.site, "where it stands is lost with the process")])


def _schedule_alone(view: View) -> Iterator[Report]:
    """The optimizer's state is loaded, and its schedule's is not."""
    for load, step in begun_anew(view):
        optimizer, scheduler = load.subject, step.subject
        saved = next((event for event, parts in checkpoints(view) if not parts & {"scheduler", "?"} and optimizer in _owners(view, event)), None)
        roles = {"missing": getattr(scheduler, "name", "") or "scheduler", "problem": "is not in it" if saved is not None else "is not loaded"}
        known = {id(site.parsed.facts) for site in (scheduler.site, step.site) if site is not None}
        loaded = next((site for site in (load.site, *reversed(load.calls)) if id(site.parsed.facts) in known), load.site)
        yield Report(CODE, _place(saved, step) if saved is not None else loaded, roles, [(step.site, "where it stands is lost with the process")])
        return


_EARLY = (
    "this state of `{missing}` is taken before its first step, when there is none yet, and written to each checkpoint: what is gone on from is empty",
    "call `{missing}.state_dict()` where the checkpoint is written",
)


def _taken_too_early(view: View) -> Iterator[Report]:
    """A dict for the checkpoints is put together once, in front of the training."""
    for taken, optimizer, written, step in taken_too_early(view):
        if _remembers(optimizer):
            related = [(step.site, "its running averages are made here"), (written.site, "it is written here")]
            yield Report(CODE, taken.site, {"missing": optimizer.name or "optimizer"}, related, words=_EARLY)
            return


_CROSSED = (
    "training goes on from `{own}`, and the state of `{missing}` is taken out of another file",
    "load it out of the file that the state of its optimizer comes from: `{own}`",
)


def _out_of_another_file(view: View) -> Iterator[Report]:
    """The schedule's state is loaded out of the file of another model."""
    for found in crossed(view):
        yield Report(CODE, found.site, {"missing": found.schedule, "own": found.other}, words=_CROSSED)
        return


_BY_A_COUNT = (
    "training goes on from this checkpoint, and `{missing}`, which the learning rate is made of, does not: it begins at {first} again",
    "save `{missing}` too, and set it where the state of the optimizer is loaded",
)


def _count_alone(view: View) -> Iterator[Report]:
    """The optimizer's state is loaded, and the count of its wrapper, which sets the rate by it, is not."""
    for load, begun in counted_anew(view):
        saved = _written_with(view, load.subject)
        if saved is not None:
            roles = {"missing": f"{begun.subject.name or 'optimizer'}.{begun.name}", "first": str(begun.value.value)}
            yield Report(CODE, left_out(saved, begun.subject.site), roles, [(begun.site, "it begins here")], words=_BY_A_COUNT)
            return


_CARRIED = (
    "training goes on from this checkpoint, and `{missing}`, which the learning rate is made of, does not: it begins at {first} again, and the "
    "next decay goes from there",
    "where the state of the optimizer is loaded, set `{missing}` to the rate in there: `optimizer.param_groups[0][\"lr\"]`",
)


def _rate_alone(view: View) -> Iterator[Report]:
    """The optimizer's state is loaded, and the rate that the training multiplies on for itself is not."""
    for load, rate in carried(view):
        saved = _written_with(view, load.subject)
        if saved is not None and _resumed(view, saved):
            roles = {"missing": rate.name, "first": rate.first}
            yield Report(CODE, left_out(saved, rate.decayed), roles, [(rate.decayed, "it is lowered here")], words=_CARRIED)
            return


def _written_with(view: View, optimizer: Value | None) -> Event | None:
    """Where a checkpoint is written that has the state of an optimizer."""
    return next((event for event, _ in checkpoints(view) if optimizer in _owners(view, event)), None)


def _owners(view: View, saved: Event) -> list[Value | None]:
    """The optimizers whose states are in a dict that is written."""
    values = [alt for value in (kept_in(view, saved) or {}).values() for alt in real(value)]
    return [alt.origin for alt in values if isinstance(alt, Opaque) and "optimizer_state" in alt.tags]


def _place(event: Event, step: Event) -> Site:
    return left_out(event, getattr(step.subject, "site", None), step.site)


def _model_alone_is_loaded(view: View, event: Event) -> Event | None:
    """Where the weights of a checkpoint are loaded, in a program that never loads an optimizer's state."""
    if in_files(view, event, r"optim\w*(?:\[[^]]*\]|\(\))?\.load_state_dict|load_state\(|\baccelerate\b|accelerator|deepspeed"):
        return None
    if _loads_out_of_view(view, event):
        return None
    loads = [load for load in view.of("load") if load.site.parsed.facts is event.site.parsed.facts and load.state is not None]
    if not loads or any(isinstance(alt, Instance) and alt.kind == "optimizer" for load in loads for alt in real(load.subject)):
        return None
    return loads[0]


def _loads_out_of_view(view: View, event: Event) -> bool:
    """Whether a `load_checkpoint` of another package, or a program's own that may fill an optimizer by a shorter name, brings a training back."""
    if not in_files(view, event, r"load_checkpoint"):
        return False
    own = in_files(view, event, r"\bdef load_checkpoint\(")
    return not own or in_files(view, event, r"(?i)opt\w*(?:\[[^]]*\]|\(\))?\.load_state_dict|load_checkpoint\([^)]*\bopt")


def _may_update(view: View, optimizer: Value, model: Value) -> bool:
    """Whether an optimizer may update a model: of a head on a frozen body it is known to have the head alone."""
    modules, tensors, complete = view.held_by(optimizer)
    return not complete or bool(tensors) or any(view.related_modules(held, alt) for held in modules for alt in real(model))


def _loaded_instead(view: View, event: Event) -> bool:
    """Whether a program loads only where it does not train and save: `if args.resume: load()`, `if not args.resume: train()`."""
    loads = view.of("load")
    return bool(loads) and all(exclude_each_other(load.guards, event.guards) for load in loads)


def _resumed(view: View, event: Event) -> bool:
    """Whether the program reads the epoch back to go on from there."""
    counts_on = r"range\(\s*[\w.]*(?:start|epoch)\w*\s*(?:\+\s*1\s*)?,"
    if not in_files(view, event, counts_on):
        return False
    if in_files(view, event, r"(?:start|epoch)\w*\s*=[^=]*\b(?:load|resume|restore)\w*\("):
        return True  # start_epoch = load_checkpoint(...)
    if in_files(view, event, r"\bopt\w*\.load_state_dict\("):
        return True
    return all(in_files(view, event, text) for text in (r"""\[["'](?:\w+_)?epochs?["']\]""", r"torch\.load\("))


def _with_memory(view: View) -> Event | None:
    """The step of one of torch's optimizers that keeps something from step to step."""
    return next((step for step, _ in _steps_with_memory(view)), None)


def _steps_with_memory(view: View) -> Iterator[tuple[Event, Value]]:
    """The first step of each of torch's optimizers that keeps something from step to step; the first in a loop, if there is one."""
    found: dict[int, tuple[Event, Value]] = {}
    for step in view.steps():
        for optimizer in real(step.subject):
            if _remembers(optimizer) and (id(optimizer) not in found or step.loops and not found[id(optimizer)][0].loops):
                found[id(optimizer)] = step, optimizer
    yield from found.values()


# Those of other packages: transformers, timm, apex, bitsandbytes.
_ELSEWHERE = re.compile(r"(?:Fused|Bert|Deep\w+CPU)?Adam\w*|AdaBound|Adafactor|[FN]?RAdam|Ranger\w*|(?:Fused)?L[Aa][Mm][Bb]|RMSprop\w*|Lion|Lookahead")


def _remembers(optimizer: Value | None) -> bool:
    if not isinstance(optimizer, Instance) or not isinstance(optimizer.cls, Ref):
        return False
    if not optimizer.type.startswith("torch.optim.") and optimizer.type not in _BARE:
        return optimizer.kind == "optimizer" and _ELSEWHERE.fullmatch(optimizer.type.rpartition(".")[2]) is not None
    momentum = optimizer.arg(2, "momentum")  # where an option says how much, there is some
    return not optimizer.type.endswith(".SGD") or momentum is not None and number(momentum) != 0


def _one_of_several(view: View) -> Iterator[Report]:
    """Of several optimizers of one object, which all step, one is left out of the checkpoint that the others go on from."""
    for event, parts in checkpoints(view):
        if "optimizer" not in parts or "?" in parts:
            continue
        saved = _owners(view, event)
        if not all(isinstance(one, Instance) and one.name and _loads(view, event, one) for one in saved):
            continue
        for made in view.of("optimizer.create"):
            left = made.subject
            if left in saved or not left.name.startswith("self.") or not all(one.name.startswith("self.") for one in saved):
                continue
            if _remembers(left) and in_files(view, event, rf"{re.escape(left.name)}\.step\(") and not in_files(view, event, _state_of(left)):
                related = [(made.site, "its running averages are lost with the process")]
                yield Report(CODE, left_out(event, left.site), {"missing": left.name, "problem": "is not in it"}, related)
                break


def _loads(view: View, event: Event, optimizer: Instance) -> bool:
    return in_files(view, event, rf"{re.escape(optimizer.name)}\.load_state_dict\(")


def _state_of(optimizer: Instance) -> str:
    return rf"\b{re.escape(optimizer.name.removeprefix('self.'))}\b.*state_dict"


def _scheduler(view: View, saved: Event) -> Event | None:
    """The step of one of torch's schedulers, of an optimizer that is saved, and told no epoch; what a plateau is told is no epoch."""
    owners = _owners(view, saved)
    for step in view.of("scheduler.step"):
        if not counts_by_itself(step):
            continue
        driven = driven_by(step.subject)
        if not owners or any(one is owner for one in driven for owner in owners):
            return step
    return None


_NOT_PREPARED = (
    "training goes on from what `{call}` writes, and `{missing}` is not in it: it was not prepared",
    "pass `{missing}` to `{owner}.prepare(...)`, or to `{owner}.register_for_checkpointing(...)`",
)


def _of_an_accelerator(view: View) -> Iterator[Report]:
    """`accelerator.save_state()` and `load_state()`, of a schedule or an optimizer that the accelerator does not know."""
    states, prepares = view.of("state"), view.of("prepare")
    saved = next((event for event in states if event.name == "save_state"), None)
    if saved is None or not prepares or any(event.get("unseen") for event in prepares):
        return
    if not in_files(view, saved, r"\.load_state\(") or in_files(view, saved, r"register_save_state_pre_hook"):
        return
    known = [alt for event in (*prepares, *states) for value in event.args for alt in real(value)]
    if not any(isinstance(one, Instance) and one.kind == "optimizer" for one in known):
        return
    stepped = {id(alt): (alt, step) for step in view.of("scheduler.step", "optimizer.step") for alt in real(step.subject)}
    for thing, step in stepped.values():
        if not isinstance(thing, Instance) or thing.kind not in ("scheduler", "optimizer") or any(thing is one for one in known):
            continue
        if thing.kind == "optimizer" and not _remembers(thing) or thing.site is None or thing.born > saved.serial:
            continue
        name = view.owner_text(step, thing.kind)
        if len({other.site for other in view.about(step.kind, thing)}) > 1 or "last_epoch" in thing.site.text():
            continue  # it may be moved to where it was
        if step.args or in_files(view, saved, rf"{re.escape(name.rpartition('.')[2])}\.(?:load_)?state_dict"):
            continue
        node = saved.site.node
        owner = saved.site.parsed.text(node.func.value) if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else "accelerator"
        roles = {"call": view.call_text(saved.site), "missing": name, "owner": owner}
        related = [(thing.site, "it is made here"), (prepares[-1].site, "and is not among what is prepared here")]
        yield Report(CODE, saved.site, roles, related, words=_NOT_PREPARED)


_WEIGHTS_ALONE = (
    "`{call}` goes on from checkpoints that hold the weights alone (`save_only_model=True`): the optimizer's averages are lost, and "
    "the schedule starts over",
    "leave out `save_only_model=True` where the training is to be resumed",
)


def _of_a_trainer(view: View) -> Iterator[Report]:
    """`TrainingArguments(save_only_model=True)`, and `trainer.train(resume_from_checkpoint=True)`."""
    for event in view.of("trainer.train"):
        resumed = event.args[0] if event.args else event.kwargs.get("resume_from_checkpoint")
        if not real(resumed) or not all(_is_checkpoint(alt) for alt in real(resumed)):
            continue
        for created in view.about("trainer.create", event.subject):
            settings = created.given.get("args")
            alone = view.run.setting(settings, "save_only_model") if settings is not None else None
            if isinstance(alone, Const) and alone.value is True:
                related = [(settings.site, "the checkpoints are written so")]
                yield Report(CODE, event.site, {"call": view.call_text(event.site)}, related, words=_WEIGHTS_ALONE)
                break


def _is_checkpoint(value: Value) -> bool:
    """Whether a value says for certain that a training is resumed."""
    if isinstance(value, Const):
        return value.value is True or isinstance(value.value, str) and bool(value.value)
    return isinstance(value, Opaque) and value.source == "call" and value.name.rpartition(".")[2] in ("get_last_checkpoint", "join")
