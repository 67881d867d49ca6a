"""Schedules of optimizers whose state is loaded, which begin anew themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import happens_after
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Instance, Ref, Value, from_file, number, real
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import heads_of
from torchlint.rules.shared.checkpoints import in_files, in_files_that_run
from torchlint.rules.shared.optional_parts import rows_without_parts

# What puts a scheduler, or the rates that it has set, to where they were.
MOVED_ON = r"(?:sched|lr_)[^=]*\.(?:load_)?state_dict|last_epoch|\w\[[\"'](?:initial_)?lr[\"']\]\s*[-+*/]?=[^=]|param_groups\b.*\]\s*=[^=]"
# A step that is told an epoch; not that of a GradScaler, which is told the optimizer, nor of what else has steps.
_TOLD = r"(?<!scaler)(?<!env)(?<!envs)\.step\((?!\s*(?:\w+\.)*(?:optim\w*|opt|closure)\s*[,)])\w+"
_OF_TRANSFORMERS = re.compile(r"transformers\.(?:\w+\.)*get_(?:scheduler|(?!constant_schedule$)\w+_schedule(?:_with_\w+)?)$")
_CONTRARY = re.compile(r"\bnot\s+[\w.]+(?![\w.\[(])|!=\s*[\"'][^\"']*[\"']")
_ELSE = re.compile(r"pre_?train|fine_?tun|transfer|(?<!la)(?<!las)(?<!grea)test|(?<!ri)eval|infer|predict", re.IGNORECASE)


def begun_anew(view: View) -> Iterator[tuple[Event, Event]]:
    """Where an optimizer's state is loaded that a training goes on from, and the step of its schedule, which is told no epoch."""
    for load, optimizer, steps in resumed_optimizers(view):
        step = next((step for step in view.of("scheduler.step") if step.loops and step.serial > load.serial and _drives(step, optimizer)), None)
        if step is None or step.subject.site is None or any(other.subject is step.subject for other in view.of("load")):
            continue
        if "last_epoch" in step.subject.site.text() or moved_on(view, load, step) or _replayed(view, step, steps):
            continue
        if not in_files(view, load, r"\baccelerate\b|accelerator|deepspeed"):
            yield load, step


def resumed_optimizers(view: View) -> Iterator[tuple[Event, Instance, list[Event]]]:
    """Where an optimizer's state is loaded that a training goes on from, the optimizer, and its steps in there."""
    for load in view.of("load"):
        optimizer = load.subject
        if load.loops or not isinstance(optimizer, Instance) or optimizer.kind != "optimizer" or not any(map(from_file, real(load.get("state")))):
            continue
        steps = [step for step in view.about("optimizer.step", optimizer) if step.loops and step.serial > load.serial]
        if steps and happens_after(load, {steps[-1]}.__contains__) and not for_something_else(load):
            yield load, optimizer, steps


def _replayed(view: View, step: Event, training: list[Event]) -> bool:
    """Whether the schedule is stepped to where it was, in a loop that trains nothing: `for _ in range(start): scheduler.step()`."""
    return any(other.loops and not any(other.loops[-1] in each.loops for each in training) for other in view.about("scheduler.step", step.subject))


def moved_on(view: View, event: Event, step: Event) -> bool:
    """Whether a line of the program may put a schedule, or its rates, to where they were; not one in a function that nobody calls, nor
    where a helper does it for who hands the schedule over, which nobody does."""
    moving = MOVED_ON if step.args else rf"{MOVED_ON}|{_TOLD}"
    if not all(in_files_that_run(view, event, moving, commented=commented) for commented in (True, False)):
        return False
    without = rows_without_parts(view, event)
    return not without or all(in_files_that_run(view, event, moving, commented=commented, without=without) for commented in (True, False))


def counts_by_itself(step: Event) -> bool:
    """Whether it is one of torch's schedulers that steps, or one that transformers makes of these, it is told no epoch, and keeps how far
    it is; what a plateau is told is no epoch."""
    scheduler = step.subject
    if not isinstance(scheduler, Instance) or not isinstance(scheduler.cls, Ref):
        return False
    if not scheduler.type.startswith("torch.optim.") and not _OF_TRANSFORMERS.match(scheduler.type):
        return False
    return not _keeps_nothing(scheduler) and (not step.args or scheduler.type.endswith(".ReduceLROnPlateau"))


def driven_by(scheduler: Instance) -> tuple[Value, ...]:
    """The optimizers whose rates a scheduler sets."""
    return real(scheduler.arg(1 if scheduler.type.endswith(".get_scheduler") else 0, "optimizer"))


def _drives(step: Event, optimizer: Value) -> bool:
    """Whether such a scheduler steps, of that optimizer, where there is that one."""
    return counts_by_itself(step) and any(one is optimizer for one in driven_by(step.subject))


def _keeps_nothing(scheduler: Instance) -> bool:
    """Whether a schedule multiplies the rate, which the optimizer keeps, by the same number at each step, however many came before."""
    if scheduler.type.endswith(".get_scheduler"):  # of which one is chosen by a name
        return all(not isinstance(alt, Const) or alt.value == "constant" for alt in real(scheduler.arg(0, "name")))
    by_steps = scheduler.type.endswith(".StepLR") and number(scheduler.arg(1, "step_size")) == 1
    return by_steps or scheduler.type.endswith(".ExponentialLR")


def for_something_else(load: Event) -> bool:
    """Whether a load stands under an `if` that asks for something else than a training: not `if not args.test`, `if mode != "test"`."""
    sites: tuple[Site, ...] = (load.site, *load.calls)
    return any(_ELSE.search(_CONTRARY.sub("", line)) for site in sites for line in heads_of(site.parsed.facts.lines, site.location().row)
               if line.lstrip().startswith(("if ", "if(", "elif ")))
