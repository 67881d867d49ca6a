"""The `order` form: after one event, another must not come with, or without, a third in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from torchlint.catalogue.apis import release
from torchlint.dryrun.alternatives import exclusive
from torchlint.dryrun.flow import after, before, common_loop, leading_to
from torchlint.dryrun.torch_api.names import SCHEDULER_NAME
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Loop, Opaque, Ref, Value, exclude_each_other, from_file, number, real
from torchlint.rules.base import Report, View

Order = dict[str, Any]


def check(view: View, code: int, order: Order) -> Iterator[Report]:
    """The reports of one `order` table on one run.

    An event "missing" in between is reported only if no path at all passes it: from the first event on, inside the
    innermost loop that both events share.
    """
    if "torch_since" in order and not view.admits(release(order["torch_since"])):
        return
    links = _SUBJECTS[order["subject"]](view)
    if "forbidden" in order:
        yield from _forbidden(view, code, order, links)
    else:
        yield from _expected(view, code, order, links)


class OptimizerLinks:
    """Which events belong to one optimizer."""

    role = "optimizer"
    loose = frozenset({"backward", "clip", "optimizer.zero_grad"})  # kinds whose subject need not be the optimizer

    def __init__(self, view: View):
        self.view = view

    def keys(self) -> list[Value]:
        return [o for o in self.view.optimizers() if not _foreign_optimizer(o)]

    def certain(self, event: Event, kind: str, key: Value) -> bool:
        """Whether the event is of that kind and belongs to the optimizer for certain."""
        if event.kind != kind:
            return False
        if kind == "backward":
            return self.view.reaches(event, key) is True
        if kind == "clip":
            modules, tensors, _ = self.view.held_by(key)
            if event.get("limit") is not None and number(event.limit) == float("inf") or _infinite(event.get("limit")):
                return False
            if not modules and not tensors:
                return self.view.only_optimizer(key)
            return any(self.view.related_modules(m, c) for m in modules for c in event.modules)
        if kind == "optimizer.zero_grad":
            return any(self.view.surely(event.subject, one) for one in (key, *self.view.held_by(key)[0]))
        return self.view.surely(event.subject, key)

    def belonging(self, kind: str, key: Value) -> list[Event]:
        """The events of a kind that belong to the optimizer for certain."""
        found = self.view.of(kind) if kind in self.loose else self.view.about(kind, key)
        return [event for event in found if self.certain(event, kind, key)]

    def possible(self, event: Event, kind: str, key: Value) -> bool:
        """Whether the event may do what an event of that kind would do to the optimizer."""
        if kind == "optimizer.zero_grad":
            return self.view.may_clear(event, key)
        if kind == "backward":
            if event.kind == "backward":
                return self.view.reaches(event, key) is not False
            return event.kind in ("unknown", "called") and self.view.may_touch(event, key)
        if kind == "clip":
            return self._may_clip(event, key)
        if event.kind == kind:
            return any(alt is key for alt in real(event.subject))
        return event.kind == "unknown" and self.view.may_touch(event, key)

    def _may_clip(self, event: Event, key: Value) -> bool:
        """Whether gradients of the optimizer's parameters may be clipped: by torch's functions, by hand, or in a call that is
        not seen and gets the model or speaks of clipping."""
        modules, tensors, complete = self.view.held_by(key)
        if event.kind == "clip":
            known = modules and complete and not tensors and event.modules
            return not known or any(self.view.related_modules(m, c) for m in modules for c in event.modules)
        if event.kind in ("grad.set", "inplace", "augment"):  # by hand, of what is not asked
            return event.kind != "augment" or event.operator != "Add"  # what is added to is a total
        if event.kind == "discarded":
            return (event.get("name") or "").startswith(("_foreach", "clip"))
        if event.kind not in ("unknown", "called"):
            return False
        if _CLIPS.search(event.get("name") or "") or self.view.may_touch(event, key):
            return True
        given = [alt for value in (event.subject, *event.get("args", ())) for alt in real(value)]
        return any(self.view.related_modules(module, alt) for module in modules for alt in given)


_CLIPS = re.compile("cli[pm]|clamp|norm|grad", re.IGNORECASE)


# Words of a name that may stand for steps of an optimizer: not the end of `from_pretrained`, nor what is `running` as a mean is.
_MAY_STEP = re.compile(r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:step|train|fit|optim|epoch|update|learn|run(?!ning))")
# A name says so, too, where only something is made: `get_training_dataloader`, `build_optimizer`, `adjust_learning_rate`.
_MAKES = re.compile(
    r"(?:^|\.)(?:(?:get|load|make|build|create|read|prepare|parse|define|configure|log|print|plot|count|adjust)_\w+"
    r"|\w*(?:loader|dataset|data|sampler|transforms?|learning_rate|lr|args|config|size|length|count|name))$", re.IGNORECASE
)
_WORKS = re.compile(r"_and_|(?:step|epoch|run|fit)s?$", re.IGNORECASE)
# What has an update() that steps nothing: it takes in values.
_TAKES_IN = re.compile(
    r"(?:^|[._])(?:\w*dict|state|p?bar|progress|tqdm|meter|metric|loss|losses|acc|top\d|ema|hist(?:ory)?|logger|writer)s?\d*$", re.IGNORECASE
)


class SchedulerLinks(OptimizerLinks):
    """Which events belong to one scheduler and the optimizer it drives."""

    role = "scheduler"
    loose = frozenset({"optimizer.step"})

    def __init__(self, view: View):
        super().__init__(view)
        self._working: dict[int, list[Event]] = {}

    def keys(self) -> list[Value]:
        seen = {}
        for event in self.view.of("scheduler.step"):
            for alt in real(event.subject):
                if not event.args and _steps_by_itself(alt) and self.view.surely(event.subject, alt):
                    seen[id(alt)] = alt
        return list(seen.values())

    def optimizer_of(self, key: Value) -> tuple[Value, ...]:
        return real(key.arg(0, "optimizer")) if isinstance(key, Instance) else ()

    def certain(self, event: Event, kind: str, key: Value) -> bool:
        if event.kind != kind:
            return False
        if kind == "scheduler.step":
            return self.view.surely(event.subject, key) and not event.args
        if kind == "optimizer.step":
            mine = self.optimizer_of(key)
            return not mine or any(alt in mine for alt in real(event.subject))
        return any(alt is key for alt in real(event.subject))

    def working(self, key: Value) -> list[Event]:
        """The steps of the optimizer that come with gradients: not one to which no backward leads from where the scheduler is built, which
        changes nothing. All of them where none does: gradients come from what is not seen."""
        if id(key) not in self._working:
            made = self.belonging("scheduler.create", key) or [self.view.run.graph.start]
            steps = self.belonging("optimizer.step", key)
            with_gradients = [step for step in steps if not all(self._comes_without_gradients(start, step) for start in made)]
            self._working[id(key)] = with_gradients or steps
        return self._working[id(key)]

    def _comes_without_gradients(self, start: Event, step: Event) -> bool:
        def may_come(event: Event) -> bool:
            if event is step or event.kind in _MAKES_GRADIENTS:
                return True
            return "backward" in (event.get("name") or "") or self._may_step_unseen(event)

        if step.get("closure") is not None or step.get("scaler") is not None or step.get("engine") is not None:
            return False
        if any(event.serial < start.serial for event in self.view.of(*_MAKES_GRADIENTS)):
            return False
        found, _ = after(start, may_come)
        return bool(found) and all(event is step for event in found)

    def possible(self, event: Event, kind: str, key: Value) -> bool:
        if event.kind == kind:
            return kind != "optimizer.step" or not self.certain(event, kind, key) or event in self.working(key)
        return self._may_step_unseen(event)

    def _may_step_unseen(self, event: Event) -> bool:
        if event.kind in ("unknown", "called"):
            name = event.get("name") or ""
            if not _MAY_STEP.search(name) or _MAKES.search(name) and not _WORKS.search(name):
                return False
            return name != "update" or not _TAKES_IN.search(self.view.owner_text(event, ""))
        return False


_MAKES_GRADIENTS = frozenset({"backward", "autograd.grad", "grad.set", "scaler.scale"})
_UNSCALES = re.compile(r"unscale|scaler|grad_scal")


class ScalerLinks(OptimizerLinks):
    """Which events belong to one GradScaler."""

    role = "scaler"
    loose = frozenset({"clip"})

    def keys(self) -> list[Value]:
        seen = {}
        for event in self.view.of("scaler.scale", "scaler.step"):
            for alt in real(event.subject):
                seen[id(alt)] = alt
        return list(seen.values())

    def certain(self, event: Event, kind: str, key: Value) -> bool:
        if event.kind != kind:
            return False
        if kind == "clip":
            return not _infinite(event.get("limit"))
        return any(alt is key for alt in real(event.subject))

    def possible(self, event: Event, kind: str, key: Value) -> bool:
        if event.kind == kind:
            return True
        if event.kind in ("unknown", "called"):
            # A call does something to what it is given and to what it is called on: a writer's add_scalar does neither.
            name = (event.get("name") or "").rpartition(".")[2].lower()
            given = any(self.view.may_hold(value, key) for value in (event.subject, *event.get("args", ())))
            return given or bool(_UNSCALES.search(name)) or name == "update" and event.subject is key
        return False


class ModuleLinks(OptimizerLinks):
    """Which events belong to one module: the modes it is put in and the training steps it takes part in."""

    role = "model"
    loose = frozenset({"backward"})

    def keys(self) -> list[Value]:
        seen = {}
        for event in self.view.of("module.eval"):
            for alt in real(event.subject):
                known = self.view.mode_dependent(alt)
                if known is None and from_file(alt) and self._is_made_without_modes(event):
                    continue
                if known is not False and self.view.surely(event.subject, alt):
                    seen[id(alt)] = alt
        return list(seen.values())

    def _is_made_without_modes(self, event: Event) -> bool:
        """Whether what is put in evaluation mode is a model without dropout and batch norm where it is made here: what comes out of a file
        in its place is one that the program has written."""
        others = [other for other in self.view.of("module.eval") if other.site == event.site]
        made = [alt for other in others for alt in real(other.subject) if not from_file(alt)]
        return bool(made) and all(self.view.mode_dependent(alt) is False for alt in made)

    def certain(self, event: Event, kind: str, key: Value) -> bool:
        if event.kind != kind:
            return False
        if kind == "backward":
            return self.forward_of(event, key) is not None
        return self.view.surely(event.subject, key)

    def forward_of(self, backward: Event, key: Value) -> Event | None:
        """The call of the module itself that a backward goes through."""
        inner = set(map(id, real(key.args[0]))) if isinstance(key, Instance) and key.kind == "wrapper" and key.args else set()
        found = [
            event for event in backward.flows
            if event.kind == "forward" and (event.subject is key or id(event.subject) in inner) and event.get("grad") is not False
        ]
        # The one of this very step, not what was computed before the loop.
        return max(found, key=lambda event: (len(event.loops), event.get("method") is None, -event.serial), default=None)

    def possible(self, event: Event, kind: str, key: Value) -> bool:
        if event.kind in ("module.train", "module.mode"):
            return any(self.view.related_modules(alt, key) for alt in real(event.subject))
        if event.kind == "unknown":
            name = (event.get("name") or "").lower()
            given = any(alt is key for value in event.get("args", ()) for alt in real(value))
            return "train" in name or given and not any(word in name for word in ("save", "eval", "valid", "test", "print", "log"))
        return False


_SUBJECTS = {
    "optimizer": OptimizerLinks,
    "scheduler": SchedulerLinks,
    "scaler": ScalerLinks,
    "module": ModuleLinks,
}


def _expected(view: View, code: int, order: Order, links: OptimizerLinks) -> Iterator[Report]:
    first, second, wanted = order["after"], order["before"], order["expect"]
    for key in links.keys():
        seconds = links.belonging(second, key)
        if not seconds:
            continue
        firsts = links.belonging(first, key)
        if first == "scheduler.create" and not firsts:
            firsts = [view.run.graph.start]
        for event in firsts:
            again = [other for other in seconds if _same_optimizer(event, other)] if first == second == "scaler.step" else seconds
            for found, loop in _unmet(view, event, again, links, wanted, key):
                if second == "backward":
                    found = _own_backward(view, found, seconds, links, key, loop)
                if _correlated(event, found) or not _confirmed(view, order, event, found, links, key, loop):
                    continue
                yield _report(view, code, order, links, key, event, found)
        if (first, second) == ("optimizer.step", "backward"):
            for event, found in _goes_on(view, firsts, seconds, links, wanted, key):
                if not _correlated(event, found) and _confirmed(view, order, event, found, links, key, common_loop(event, found)):
                    yield _report(view, code, order, links, key, event, found)


def _goes_on(view, firsts, seconds, links, wanted, key) -> Iterator[tuple[Event, Event]]:
    """The second events under a condition of their own behind a first one, in the same turn, to which no way leads but from there:
    `step(); if log: loss.backward(); step()`, where the next turn clears."""
    for found in seconds:
        ahead = [first for first in firsts if first.serial < found.serial and first.loops == found.loops and set(first.guards) < set(found.guards)]
        if not ahead:
            continue

        def stop(other: Event) -> bool:
            return other in firsts or other in seconds or view.starts_over(other, key) or links.possible(other, wanted, key)

        back, start = before(found, stop)
        if not start and len(back) == 1 and back[0] in ahead:
            yield back[0], found


def _unmet(view, event, seconds, links, wanted, key) -> Iterator[tuple[Event, Loop | None]]:
    """The second events that are reached from the first with the wanted one on no path between."""
    if not event.loops and all(second.serial < event.serial for second in reversed(seconds)):
        return  # only loops lead back
    shared = [common_loop(event, second) for second in seconds] if event.loops else []
    if event.kind == "scaler.step":
        shared = [_repeating(event, loop) for loop in shared]
    innermost = max((loop for loop in shared if loop is not None), key=lambda loop: _depth(event, loop), default=None)
    for loop in dict.fromkeys((innermost, None) if innermost is None or not event.loops else (innermost,)):
        targets = set(seconds)
        places = {(other.kind, other.site) for other in seconds if other.subject is not None}
        kinds = {kind for kind, _ in places}

        def anew(other: Event) -> bool:
            return bool(event.loops) and view.starts_over(other, key)

        def of_another(other: Event) -> bool:  # what the same line does where another of several was made: not a way of this one
            if other.kind not in kinds:
                return False
            return (other.kind, other.site) in places and other not in targets and all(exclusive(alt, key) for alt in real(other.subject))

        def stop(other: Event) -> bool:
            return other in targets or anew(other) or of_another(other) or links.possible(other, wanted, key)

        found = [other for other in after(event, stop, loop)[0] if not anew(other) and not of_another(other)]
        if found and all(other in targets for other in found):
            for other in found:
                yield other, loop
            return


def _repeating(event: Event, loop: Loop | None) -> Loop | None:
    """The loop, or the one around it, in which a step of a scaler comes again for the same optimizer: not one that runs over
    the optimizers."""
    names = {node.value for arg in event.site.node.args for node in walk(arg.value) if isinstance(node, cst.Name)}
    outer = event.loops[: event.loops.index(loop) + 1] if loop is not None else ()
    return next((one for one in reversed(outer) if not names & _bound_by(one)), None)


def _bound_by(loop: Loop) -> set[str]:
    node = loop.site.node if loop.site is not None else None
    return {item.value for item in walk(node.target) if isinstance(item, cst.Name)} if isinstance(node, (cst.For, cst.CompFor)) else set()


def _same_optimizer(one: Event, other: Event) -> bool:
    """Whether two steps of a scaler are for the same optimizer: it keeps a record for each."""
    mine, others = real(one.get("optimizer")), real(other.get("optimizer"))
    return len(mine) == len(others) == 1 and mine[0] is others[0]


def _own_backward(view: View, found: Event, seconds: list[Event], links, key, loop: Loop | None) -> Event:
    """The backward that an optimizer steps on: those before it, for steps of other optimizers, only add to the pile (in a
    GAN, that of the generator goes through the discriminator)."""
    for _ in range(4):
        onward, _ = after(found, lambda event: event.kind == "optimizer.step", loop)
        if not onward or any(links.certain(step, "optimizer.step", key) for step in onward):
            break
        later, _ = after(found, lambda event: event in seconds or links.possible(event, "optimizer.zero_grad", key), loop)
        if not later or later[0] not in seconds:
            break
        found = later[0]
    return found


def _depth(event: Event, loop: Loop) -> int:
    return event.loops.index(loop) if loop in event.loops else -1


def _correlated(one: Event, other: Event) -> bool:
    """Whether two events stand under conditions of their own that speak of the same thing: `if phase == "val": eval()` and
    `if phase == "train": backward()` hardly ever happen in one run of the code."""
    mine, others = set(one.get("guards", ())), set(other.get("guards", ()))
    return bool(_names(mine - others) & _names(others - mine))


def _names(guards) -> set[str]:
    return {name for site, _ in guards for name in re.findall(r"[A-Za-z_][\w.]*", site.text())} - _NO_NAMES


_NO_NAMES = {"and", "or", "not", "in", "is", "None", "True", "False", "len", "int", "epoch", "i", "step"}


def _confirmed(view, order, event, found, links, key, loop) -> bool:
    """What else must be true, by what the order is about, for the finding to be certain."""
    first, second, wanted = order["after"], order["before"], order["expect"]
    if (first, second, wanted) == ("optimizer.step", "backward", "optimizer.zero_grad"):
        # Gradients that pile up matter only when the same optimizer steps on them again (in a GAN they do not).
        def stop(other: Event) -> bool:
            return links.certain(other, "optimizer.step", key) or links.possible(other, "optimizer.zero_grad", key)

        onward, _ = after(found, stop, loop, event)
        if not onward or not all(other.kind == "optimizer.step" for other in onward):
            return False
        # A step for which nothing was computed leaves nothing behind either.
        back, start = before(event, lambda e: e.kind == "backward" or links.possible(e, "optimizer.zero_grad", key))
        if back and not start and all(e.kind != "backward" for e in back):
            return False
        return not view.in_own_time(event) and not _differentiable(found) and not _handed_over(found)
    if second == "scheduler.step":
        return any(common_loop(found, step) is not None for step in links.working(key)) and bool(found.loops)
    if (first, second, wanted) == ("optimizer.step", "clip", "backward"):
        # After the clip, the gradients must be thrown away or added to before they are used.
        onward, _ = after(found, lambda e: e.kind in ("optimizer.step", "backward", "optimizer.zero_grad"), None)
        return bool(onward) and not any(e.kind == "optimizer.step" for e in onward)
    if (first, second, wanted) == ("optimizer.zero_grad", "clip", "backward"):
        onward, _ = after(found, lambda e: e.kind in ("optimizer.step", "backward"), None)
        return bool(onward) and all(e.kind == "backward" for e in onward)
    if (first, second) == ("optimizer.create", "clip"):
        return _clips_once(view, found, links, key)
    if (first, second, wanted) == ("scaler.scale", "clip", "scaler.unscale"):
        backward = [b for b in view.of("backward") if common_loop(b, found) is common_loop(event, found)]
        onward, _ = after(found, lambda e: e.kind in ("scaler.step", "scaler.scale"), None)
        return bool(backward) and bool(onward) and any(e.kind == "scaler.step" for e in onward)
    if first == "module.eval":
        backward = found
        forward = links.forward_of(backward, key)
        if forward is None:
            return False
        steps, _ = after(backward, lambda e: e.kind == "optimizer.step", None)
        if not steps:
            return False
        # It must have been trained in training mode before: frozen batch norm on purpose is sound.
        def sets_mode(other: Event) -> bool:
            return other.kind in ("module.eval", "module.train", "module.mode") and any(alt is key for alt in real(other.subject))

        onward, _ = after(event, lambda e: sets_mode(e) or e.kind == "forward" and e.site == forward.site, None)
        if not any(e.kind == "forward" for e in onward):
            return False  # `loss = f(model(x)); model.eval(); loss.backward()`
        back, start = before(forward, sets_mode, None)
        if _chosen(event, forward, back):
            return False
        if start or any(e.kind == "module.train" for e in back):
            # Of a model that is not seen it is enough that it was trained in the mode that it came in, and no training sets the other.
            trained = _is_held(view, key) or not _feeds_another(backward, forward)
            return trained and forward.mode is not False and not _leads_to(event, forward) or _mode_matters(view, key)
        return bool(back) and all(_undoes(e, sets_mode) for e in back) and _mode_matters(view, key)
    if second == "scaler.step":
        return loop is not None
    return True


def _handed_over(backward: Event) -> bool:
    """Whether the loss comes from a caller that is not in view, who may well clear the gradients before computing it."""
    alts = real(backward.subject)
    return bool(alts) and not backward.flows and all(type(alt) is Opaque and alt.source == "param" for alt in alts)


def _undoes(event: Event, sets_mode: Callable[[Event], bool]) -> bool:
    """Whether an eval() stands in something that was called after another function has called train(): a data set that makes
    labels with the model, say, or the evaluation that each epoch begins with. Whoever calls train() means it."""
    back, start = before(event, sets_mode, None)
    others, unit = [other for other in back if other is not event], event.site.parsed.unit  # in a loop it comes after itself
    return bool(event.calls and others) and not start and all(e.kind == "module.train" and e.site.parsed.unit is not unit for e in others)


def _chosen(eval_: Event, forward: Event, back: list[Event]) -> bool:
    """Whether the training itself asks which mode it is in: `model.train() if finetune else model.eval()`, above its loop."""
    return _leads_to(eval_, forward) and any(
        other.kind == "module.train" and other.site.parsed is eval_.site.parsed and exclude_each_other(other.guards, eval_.guards) for other in back
    )


def _leads_to(eval_: Event, forward: Event) -> bool:
    """Whether an eval() stands above a forward, in the function of the training itself: that of a head on a frozen model."""
    return eval_.site.parsed is forward.site.parsed and eval_.site.location().row < forward.site.location().row


def _is_held(view: View, key: Value) -> bool:
    """Whether an optimizer is known to have a model."""
    return any(view.surely(held, key) for optimizer in view.optimizers() for held in view.held_by(optimizer)[0])


def _feeds_another(backward: Event, forward: Event) -> bool:
    """Whether another model of the training goes on with the output: what comes before a head may be frozen."""
    return any(
        event.kind == "forward" and event.subject is not forward.subject and not event.get("inside") and event.loops == forward.loops
        and any(forward in alt.flows for value in event.args for alt in real(value))
        for event in backward.flows
    )


def _mode_matters(view: View, key: Value) -> bool:
    if view.mode_dependent(key):
        return True
    # Not known what is in it: that somebody calls train() on it says that it matters.
    return any(any(alt is key for alt in real(event.subject)) for event in view.of("module.train"))


def _forbidden(view: View, code: int, order: Order, links: OptimizerLinks) -> Iterator[Report]:
    first, second, bad = order["after"], order["before"], order["forbidden"]
    for key in links.keys():
        seconds = links.belonging(second, key)
        if not seconds or any(view.in_own_time(event) for event in seconds):
            continue
        bads = links.belonging(bad, key)

        def used(other: Event) -> bool:
            own = other.kind == second and (any(alt is key for alt in real(other.subject)) or links.possible(other, second, key))
            return own or links.possible(other, first, key)

        spoiled: set[Event] = set()
        if len(bads) > 1:  # one way through the run for all of them
            others = [event for event in view.run.graph.events if used(event) and not links.certain(event, second, key)]
            spoiled = leading_to(others, used)
        for event in bads:
            onward = [] if event in spoiled else after(event, used)[0]
            if not onward or not all(links.certain(other, second, key) for other in onward):
                continue

            def made(other: Event) -> bool:
                return other is not event and (
                    other.kind in (first, second) or links.possible(other, bad, key) or other.kind == "unknown" and view.may_touch(other, key)
                )

            back, start = before(event, made, None)
            if start or not back or not all(links.certain(other, first, key) for other in back):
                continue
            yield _report(view, code, order, links, key, back[0], event, onward[0])


def _clips_once(view: View, clip: Event, links: OptimizerLinks, key: Value) -> bool:
    """Whether a clip comes before any gradient, in no turn of the training, and every step takes its gradients as backward left them,
    or has none where a way leads around the backward (one that raised)."""
    steps = links.belonging("optimizer.step", key)
    if not steps or any(common_loop(clip, step) is not None for step in steps):
        return False
    if before(clip, lambda e: links.possible(e, "backward", key))[0]:
        return False
    for step in steps:
        back, start = before(step, lambda e: e.kind == "backward" or links.possible(e, "clip", key))
        kinds = {e.kind for e in back if e.site != clip.site}
        if start or kinds != {"backward"}:
            return False
    return True


def _report(view, code, order, links, key, first: Event, at: Event, last: Event | None = None) -> Report:
    site = at.site
    roles = {"call": view.call_text(site)}
    related = []
    for event in (first, at, last):
        if event is None or event.site is None:
            continue
        if event.kind == "optimizer.step":
            roles["optimizer"] = view.owner_text(event, "optimizer") if event.get("scaler") is None else roles.get("optimizer", "optimizer")
        elif event.kind == "backward":
            roles["loss"] = view.loss_text(event)
        elif event.kind == "scheduler.step":
            roles["scheduler"] = view.owner_text(event, "scheduler")
        elif event.kind.startswith("scaler."):
            roles["scaler"] = view.owner_text(event, "scaler")
        elif event.kind in ("module.eval", "module.train"):
            roles["model"] = view.owner_text(event, "model")
    if isinstance(key, Opaque) and key.name:
        roles.setdefault(links.role, key.name)
    if order["after"] == "module.eval":
        forward = links.forward_of(at, key)
        site = forward.site
        roles["model"] = view.owner_text(forward, "model")
        related.append((first.site, "evaluation mode is set here"))
        related.append((at.site, "and the training step goes on here"))
    elif order["before"] == "backward" and order["after"] == "optimizer.step":
        related.append((first.site, "the step that used the gradients before"))
    elif last is not None:
        used = order["after"] == "backward" and order["before"] == "optimizer.step"
        related.append((first.site, _DONE.get(first.kind, "after this")))
        related.append((last.site, "and would be used here" if used else f"and {_DONE[last.kind]}"))
    elif order["before"] == "scheduler.step":
        for step in links.working(key):
            if common_loop(at, step) is not None:
                roles["optimizer"] = view.owner_text(step, "optimizer")
                related.append((step.site, "the optimizer steps only here"))
                break
        others = [step for step in links.belonging("optimizer.step", key) if step not in links.working(key)]
        related += [(step.site, "there is no gradient yet for this step, which changes nothing") for step in others[:1]]
    elif first.site is not None and first is not at:
        related.append((first.site, _DONE.get(first.kind, "after this")))
        for event in view.of("scaler.step") if order["after"] == "scaler.scale" else ():
            for alt in real(event.get("optimizer")):
                roles.setdefault("optimizer", getattr(alt, "name", "") or "optimizer")
    return Report(code, site, roles, related)


_DONE = {
    "backward": "the gradients are computed here",
    "clip": "the gradients are clipped here",
    "optimizer.create": "the optimizer is built here",
    "optimizer.step": "the step is taken here",
    "optimizer.zero_grad": "the gradients are cleared here",
    "scaler.scale": "the loss is scaled here",
    "scaler.unscale": "the gradients are unscaled here",
    "scaler.step": "the scaler steps here",
    "scaler.update": "the scale is updated here",
    "scheduler.create": "the scheduler is built here",
    "scheduler.step": "the learning rate moves on here",
}


def _differentiable(backward: Event) -> bool:
    return any(key in backward.get("kwargs", {}) for key in ("create_graph", "inputs"))


def _infinite(value: Value | None) -> bool:
    for alt in real(value):
        if isinstance(alt, Const) and isinstance(alt.value, str) and alt.value == "inf":
            return True
        if isinstance(alt, Ref) and alt.name in ("math.inf", "numpy.inf", "torch.inf"):
            return True
        if isinstance(alt, Opaque) and "inf" in alt.tags:
            return True
        if isinstance(alt, Const) and alt.value == float("inf"):
            return True
    return False


def _steps_by_itself(scheduler: Value) -> bool:
    """Whether a scheduler's step() moves the learning rate of torch's own protocol."""
    if isinstance(scheduler, Instance):
        if isinstance(scheduler.cls, Class):
            return _asks_torch(scheduler.cls)
        return not scheduler.type.endswith(_OWN_STEPS) and isinstance(scheduler.cls, Ref)
    return isinstance(scheduler, Opaque) and bool(SCHEDULER_NAME.search(scheduler.name))


_OWN_STEPS = ("ReduceLROnPlateau", "CosineAnnealingWarmRestarts")
_SKIPS = re.compile("warm|find|range|test", re.IGNORECASE)


def _asks_torch(cls: Class) -> bool:
    """Whether a class of the project has torch's own step(). One that warms up from 0, or looks for a rate, may mean to skip its
    first one."""
    bases = cls.externals()
    own = any(isinstance(base, Class) and _SKIPS.search(base.name) for base in cls.mro())
    known = bool(bases) and all(base.startswith("torch.optim.lr_scheduler.") and not base.endswith(_OWN_STEPS) for base in bases)
    return known and not own and cls.method("step") is None


def _foreign_optimizer(optimizer: Value) -> bool:
    """Optimizers whose class is not known in full may clear gradients themselves."""
    return isinstance(optimizer, Instance) and not isinstance(optimizer.cls, Ref)


