"""801: a distributed sampler that is never told the epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Const, Instance, Ref, Value, real
from torchlint.rules.base import Report, View

CODE = 801


def check(view: View) -> Iterator[Report]:
    """The loader of a shuffling DistributedSampler is iterated in an epoch loop, and nothing calls set_epoch."""
    if view.of("sampler.set_epoch"):
        return
    for event in view.of("loader.iterate"):
        loader = event.subject
        if not isinstance(loader, Instance) or loader.kind != "loader" or not event.loops:
            continue
        alts = [alt for alt in _samplers(loader) if _shuffling(alt)]  # beside it, that of a run in one process
        if not alts or event.grad_on is not True:
            continue
        if "set_epoch" in event.site.parsed.facts.words or _handed_on(view, loader, alts) or _evaluates(view, event):
            continue
        name = event.site.text()
        if "(" in name:  # enumerate(loader)
            name = loader.name or name
        related = [(alts[0].site, "the sampler is built here")] if alts[0].site is not None else []
        names = {"loader": name if len(name) < 40 else "loader", "sampler": getattr(alts[0], "name", "") or "sampler"}
        yield Report(CODE, event.site, names, related)


def _samplers(loader: Instance) -> tuple[Value, ...]:
    """What a loader's order comes from: its sampler, or that of its batch sampler."""
    found = [*real(loader.arg(3, "sampler"))]
    for batches in real(loader.arg(4, "batch_sampler")):
        if isinstance(batches, Instance) and isinstance(batches.cls, Ref) and batches.type.endswith(".BatchSampler"):
            found.extend(real(batches.arg(0, "sampler")))
    return tuple(found)


def _shuffling(sampler: Value) -> bool:
    if not isinstance(sampler, Instance) or not isinstance(sampler.cls, Ref) or not sampler.type.endswith(".DistributedSampler"):
        return False
    shuffle = sampler.arg(3, "shuffle")
    return "**" not in sampler.kwargs and (shuffle is None or isinstance(shuffle, Const) and shuffle.value is True)


def _handed_on(view: View, loader: Value, samplers) -> bool:
    """Whether code that cannot be seen was given the loader or the sampler."""
    return id(loader) in view.run.escaped or any(id(sampler) in view.run.escaped for sampler in samplers)


def _evaluates(view: View, event) -> bool:
    """Whether the loop over the loader makes no training step: the order does not matter then."""
    steps = [step for step in view.of("optimizer.step", "backward") if event.loops[-1] in step.loops]
    return not steps
