"""122: the optimizer, or its scheduler, is built anew in the loop that it should live through."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.alternatives import conditions
from torchlint.dryrun.guards import Guard
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Const, Event, Instance, Loop, Opaque, Ref, Value, number, real
from torchlint.rules.base import Report, View

CODE = 122
# Schedules that count their own steps: a new one starts from the beginning. (ExponentialLR goes on from where the
# rate is.)
_COUNTING = (
    "StepLR",
    "MultiStepLR",
    "LambdaLR",
    "OneCycleLR",
    "CosineAnnealingLR",
    "CyclicLR",
    "LinearLR",
    "PolynomialLR",
    "CosineAnnealingWarmRestarts",
)
_NEW_START = re.compile(
    r"reset|deepcopy|copy\.copy|load_state_dict|\.apply\(|requires_grad|init_weights|reinit|fold|task|\bstage"
)
# `filter(lambda p: p.requires_grad, ...)`, `[p for p in ... if p.requires_grad]`: the flag is asked for, not set.
_ASKS_FLAG = re.compile(r"(?:\blambda \w+: ?|\bif )\w+\.requires_grad\b(?! ?=(?!=))")
_THAWS = re.compile(r"fr[eo]ez|thaw|trainable|grad", re.IGNORECASE)
_EPOCH = re.compile(r"epoch", re.IGNORECASE)


def check(view: View) -> Iterator[Report]:
    """A constructor in the loop whose iterations are meant to continue one training."""
    for created in view.of("optimizer.create"):
        loop = _own_loop(view, created)
        settled = None if loop is not None else _settled_loop(view, created)
        loop = loop or settled
        optimizer = created.subject
        if (
            loop is None
            or not isinstance(optimizer, Instance)
            or not isinstance(optimizer.cls, Ref)
            or not _has_memory(optimizer, rate_varies=_set_in_some_turns(loop, created))
        ):
            continue
        modules, tensors, _ = view.held_by(optimizer)
        if not modules or tensors or not all(_made_before(view, module, loop) for module in modules):
            continue
        steps = [step for step in view.steps() if loop in step.loops and _steps_with(step, optimizer, settled is not None)]
        by_hand = settled is None and _by_hand(loop, created)
        if steps and _one_training(steps, loop) and not _new_start(view, loop, created) and not by_hand:
            roles = {
                "call": created.site.parsed.text(created.site.node.func),
                "name": optimizer.name or "optimizer",
                "memory": "moments and momentum",
            }
            yield Report(CODE, created.site, roles, [(loop.site, "in each iteration of this loop")])
    for created in view.of("scheduler.create"):
        loop = _own_loop(view, created)
        scheduler = created.subject
        if loop is None or not isinstance(scheduler, Instance) or not _counts(scheduler):
            continue
        if not all(_made_before(view, alt, loop) for alt in real(created.optimizer)):
            continue
        steps = [step for step in view.of("scheduler.step") if real(step.subject) == (scheduler,)]
        if steps and all(step.loops == created.loops for step in steps):
            roles = {
                "call": created.site.parsed.text(created.site.node.func),
                "name": scheduler.name or "scheduler",
                "memory": "count of steps",
            }
            yield Report(
                CODE,
                created.site,
                roles,
                [(loop.site, "in each iteration of this loop"), (steps[0].site, "so this is always its first step")],
            )


def _own_loop(view: View, created: Event) -> Loop | None:
    """The loop whose every iteration comes by the constructor, under no condition; or under one that its steps stand under as well:
    each is the first of a new optimizer then, `if step % 10 == 0: agent.learn()`."""
    if not created.loops or created.site is None or not isinstance(created.subject, Instance):
        return None
    loop = created.loops[-1]
    heads = [event for event in view.of("loop") if event.get("loop") is loop]
    if not heads:
        return None
    own = conditions(created.subject)
    asked = [guard for guard in own if guard not in heads[0].guards]
    return loop if heads[0].guards == own or _all_in_one_call(view, created, asked) else None


def _settled_loop(view: View, created: Event) -> Loop | None:
    """The loop over batches that a constructor stands in, under a condition that each of its turns answers alike:
    `if epoch >= 100: optimizer = SGD(...)` behind each batch. (One that a run answers once may be about anything.)"""
    if len(created.loops) < 2 or created.site is None or not isinstance(created.subject, Instance):
        return None
    loop = created.loops[-1]
    head = next((event for event in view.of("loop") if event.get("loop") is loop), None)
    if head is None or not isinstance(created.subject.arg(1, "lr"), Const):
        return None
    asked = [guard for guard in conditions(created.subject) if guard not in head.guards]
    same = all(guard.varies and loop not in guard.varies and not _NEW_START.search(guard.site.text()) for guard in asked)
    return loop if asked and same else None


def _steps_with(step: Event, optimizer: Instance, perhaps: bool) -> bool:
    """Whether a step is that of an optimizer; `perhaps`: of one that was made there in another turn, or of one before it."""
    alts = real(step.subject)
    return any(isinstance(alt, Instance) and alt.site == optimizer.site for alt in alts) if perhaps else alts == (optimizer,)


def _all_in_one_call(view: View, created: Event, asked: list[Guard]) -> bool:
    """Whether a call of a function under a condition makes an optimizer, steps with it once, and forgets it."""
    if not created.calls or any(_NEW_START.search(guard.site.text()) for guard in asked):
        return False
    unit = created.site.parsed.unit
    if any(guard.site.parsed is created.site.parsed for guard in asked):
        return False  # the function itself decides when: `if self.optimizer is None`
    steps = [step for step in view.steps() if any(alt is created.subject for alt in real(step.subject))]
    kept = any(alt is created.subject for event in view.of("setattr", "append", "item.set") for alt in real(event.get("value")))
    return bool(steps) and not kept and all(
        step.site.parsed.unit is unit and step.loops == created.loops and step.calls == created.calls for step in steps
    )


def _made_before(view: View, value: Value, loop: Loop) -> bool:
    """Whether a model or optimizer is the same one in every iteration, for certain."""
    if isinstance(value, Instance):
        made = view.run.made_in.get(id(value))
        return made is not None and loop not in made
    # What comes from outside is unknown until it is first asked for; other things are known from where they are made.
    return type(value) is Opaque and not value.flows and (value.source in ("param", "global", "attr") or value.serial < loop.serial)


def _has_memory(optimizer: Instance, rate_varies: bool) -> bool:
    """Whether steps depend on the steps before, with the same settings in each iteration, but for a rate that is known to vary seldom."""
    if "**" in optimizer.kwargs or "*" in optimizer.kwargs:
        return False
    rate = optimizer.arg(1, "lr")
    if (
        rate is not None
        and not rate_varies
        and not isinstance(rate, Const)
        and not (type(rate) is Opaque and rate.source in ("attr", "param", "global"))
    ):
        return False  # a schedule by hand: a new rate each time
    if optimizer.type == "torch.optim.SGD":
        momentum = optimizer.arg(2, "momentum")
        return number(momentum) != 0 and isinstance(momentum, Const)
    return optimizer.type != "torch.optim.LBFGS"


def _one_training(steps: list[Event], loop: Loop) -> bool:
    """Whether each iteration is one step, or one epoch, of a training that goes on."""
    if all(step.loops[-1] is loop for step in steps):
        return len({step.site for step in steps}) == 1  # several steps: the loop inside of a method of two levels
    head = loop.site.node
    words = (
        loop.site.parsed.text(head.target) + " " + loop.site.parsed.text(head.iter)
        if loop.kind == "for" and hasattr(head, "iter")
        else ""
    )
    return bool(_EPOCH.search(words)) and all(len(step.loops) - step.loops.index(loop) == 2 for step in steps)


def _new_start(view: View, loop: Loop, created: Event) -> bool:
    """Whether the loop's text speaks of weights that start anew, or of parameters that are frozen and thawed; where an optimizer is given
    those that are not frozen, whether something in the loop may have frozen others than before."""
    texts = [loop.site.text(), created.site.text()]
    plain = [_ASKS_FLAG.sub("", text) for text in texts]
    return any(_NEW_START.search(text) for text in plain) or plain != texts and _thaws(view, loop)


def _thaws(view: View, loop: Loop) -> bool:
    """Whether something in a loop sets `requires_grad`, or is not seen and called as if it did."""
    if any(loop in event.loops for event in view.of("flag.set", "leaf.set", "inplace.flag")):
        return True
    return any(loop in event.loops and _THAWS.search(event.get("name") or "") for event in view.of("unknown", "called"))


def _by_hand(loop: Loop, created: Event) -> bool:
    """Whether the loop sets what the optimizer is given as its learning rate: a schedule by hand."""
    given = _given_rate(created)
    names = set(re.findall(r"[A-Za-z_]\w*", created.site.parsed.text(given))) if given is not None else set()
    return bool(names & set(_assigned(loop.site.node))) and not _set_in_some_turns(loop, created)


def _given_rate(created: Event) -> cst.BaseExpression | None:
    """The learning rate, as it is written in the call of the optimizer."""
    given = [arg.value for arg in created.site.node.args if arg.keyword is not None and arg.keyword.value == "lr"]
    given += [arg.value for arg in created.site.node.args[1:2] if arg.keyword is None]
    return given[0] if given else None


def _set_in_some_turns(loop: Loop, created: Event) -> bool:
    """Whether the rate that an optimizer is given has a name that the loop sets in few of its turns: `if epoch in (20, 30): lr *= 0.1`. In
    all others nothing is new but the optimizer."""
    given, node = _given_rate(created), loop.site.node if loop.site is not None else None
    if not isinstance(given, cst.Name) or not isinstance(node, cst.For) or not isinstance(node.target, cst.Name):
        return False
    once = re.compile(rf"{node.target.value}\s*(?:in\s*[\[(]|==|%\s*(?:[2-9]|\d\d|[A-Za-z_])[\w.]*\s*==)")
    seldom = [part.body for part in walk(node) if isinstance(part, cst.If) and once.match(loop.site.parsed.text(part.test))]
    seldom_set = [name for body in seldom for name in _assigned(body)].count(given.value)
    return 0 < seldom_set == list(_assigned(node)).count(given.value)


def _assigned(node: cst.CSTNode) -> Iterator[str]:
    """The names and attributes that statements below a node assign."""
    for node in walk(node):
        targets = (
            [item.target for item in node.targets]
            if isinstance(node, cst.Assign)
            else [node.target] if isinstance(node, cst.AugAssign) else []
        )
        for target in targets:
            if isinstance(target, (cst.Name, cst.Attribute)):
                yield target.value if isinstance(target, cst.Name) else target.attr.value


def _counts(scheduler: Instance) -> bool:
    last = scheduler.type.rsplit(".", 1)[-1]
    if last not in _COUNTING or "last_epoch" in scheduler.kwargs or "**" in scheduler.kwargs:
        return False
    return not (last == "StepLR" and number(scheduler.arg(1, "step_size")) == 1)
