"""121 and 422: a loss or a gradient that is not finite, and the operation that made it so; 413 at level="memory".

Every loss is looked at when backward is called on it, all gradients after each backward. Where one is not finite the
step is run again at once, while the lines that made the loss are still running (`replay.py`); it is told when backward
was called on such a loss, or when an optimizer steps on such gradients: who skips the step has taken care of it.

One cause, one finding: where the origin can be told it is 422, on the origin's line; where it cannot, it is 121 on the
line of backward for a loss, and 422 on that of the step for gradients, and the next steps are looked at operation by
operation (`instrumented.py`).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from torch import nn
from torch.nn.parameter import is_lazy

from torchsan.check import Check
from torchsan.nonfinite import refused, replay, rerun, sharded, verdict
from torchsan.nonfinite.hint import hint
from torchsan.nonfinite.instrumented import Instrumented
from torchsan.nonfinite.loss_graph import bad_operation
from torchsan.nonfinite.origin import External, Record
from torchsan.nonfinite.sentinel import finite, finite_here
from torchsan.nonfinite.step_function import any_ran as any_function_ran
from torchsan.nonfinite.step_function import local as running
from torchsan.own import math, threading, torch, weakref
from torchsan.program.compiled import compiled_frames, is_compiled
from torchsan.program.layers import parameters_of, parts_of
from torchsan.program.naming import name_of
from torchsan.program.source import assigned
from torchsan.program.where import Where, here
from torchsan.ranks.agreement import Agreement
from torchsan.stream.events import Event, rest
from torchsan.stream.forward_start import Remembered
from torchsan.stream.forward_start import at_rest as forward_at_rest
from torchsan.stream.ledger import Account
from torchsan.stream.modes import none_active, without_subclasses
from torchsan.stream.resting_checks import Plan, shapes_of
from torchsan.stream.weak_ids import WeakIds

_SKIPS = 3  # a scaler copes with an overflow now and then; steps skipped in a row before we look
_REPLAYS = 8  # in a run: who trains on with NaN does not want one at every step
_FORWARDS = 8  # remembered since the last step
_GROWN = 1e4  # times its first value, a loss that only ever grew
_SPREAD = "the model is spread over processes"


_Tensor, _is_finite = torch.Tensor, math.isfinite
_PLAIN = {_Tensor}
_grad_of = operator.attrgetter("grad")


class _Symptom(NamedTuple):
    """Something that is not finite, what a replay made of it, and the backward where it came up."""

    fact: str
    outcome: replay.Outcome
    backward: Event | None
    of_loss: bool = False
    mark: tuple[int, int] | None = None  # of the gradients
    in_graph: str = ""  # what the loss's graph told, before backward freed it

    def goes_on(self, mark: tuple[int, int] | None) -> bool:
        """Whether more was added to the same bad gradients."""
        return None not in (mark, self.mark) and mark[0] == self.mark[0] and mark[1] > self.mark[1]


class _Deferred(NamedTuple):
    """A loss of a sharded model that is not finite: the ranks can look into it together once its backward is over."""

    event: Event
    value: float
    name: str | None
    in_graph: str


class _State:
    """What is known of a thread's current step."""

    def __init__(self) -> None:
        self.forwards: list[Remembered] = []
        self.backward: Event | None = None
        self.losses: list[torch.Tensor] = []  # on devices
        self.deferred: _Deferred | None = None
        self.together = False  # the ranks of a sharded model have just been through the same backward
        self.bad_loss = False
        self.scaled: weakref.ref | None = None  # what the scaler made of the loss
        self.is_scaled = False
        self.in_scaler: tuple[Any, bool] | None = None  # an optimizer, and whether it made its step
        self.in_closure = 0  # 1, and one more for each backward inside
        self.pending: dict[int, _Symptom] = {}  # by optimizer: bad gradients that no step has used yet
        self.marks: dict[int, Any] = {}  # by optimizer: gradients that were finite
        self.tracer: Instrumented | None = None
        self.left_behind: list[Instrumented] = []  # under a mode of the program's
        self.draws: bool | None = None  # whether random numbers were drawn between a forward and its backward, once looked
        self.is_plain = False  # nothing of all this is there, but forwards and marks: quick looks are enough


def _nothing_to_see(*_: Any) -> bool:
    return True


class _States(threading.local):
    """Each thread's own. To read what a thread has takes several times as long as to read an attribute: once a look."""

    def __init__(self) -> None:
        self.own = _State()


class NonFinite(Check):
    """A NaN or an infinite value came up: the first operation that made it out of finite ones."""

    numbers = (121, 422, 413)
    always = True  # the first bad step is the one that tells
    asleep_to = ("loss",)  # one that torch refuses is told all the same

    def __init__(self, watch: Any):
        super().__init__(watch)
        self._states = _States()
        self.replays = 0
        self.ill: tuple[int, Any] | None = None  # the finding that stands until a step is finite again
        self.skips: dict[int, int] = {}
        self.compiled = compiled_frames()
        self.known = WeakIds()  # root modules whose parameters were looked at
        self.bad_from_the_start: set[int] = set()
        self.ranks = Agreement()

    @property
    def state(self) -> _State:
        return self._states.own

    # What it hears.

    def before_forward(self, event: Event) -> None:
        if event.depth or not event.grad or torch.is_inference_mode_enabled():
            return
        if event.subject not in self.known:
            self.known.add(event.subject)
            self._first_look(event.subject)
        forwards = self.state.forwards
        if forwards:
            forwards[-1].let_go()
        # Of a tiny model that rests, a look at the line costs too much; then the finding lacks it.
        forwards.append(Remembered(event.subject, event.args, event.kwargs, None if event.rested and rest.is_tiny else event.where()))
        if len(forwards) > _FORWARDS:
            del forwards[0]

    # Quick looks while a model rests: what comes first of the handlers below, where all is as ever.

    def quick_before_forward(self, plan: Plan) -> Callable[[nn.Module, tuple, dict], bool]:
        if plan.depth or not plan.grad:
            return _nothing_to_see
        state = self._states.own
        forwards = state.forwards
        # A loop that drew no random numbers in all the steps that were heard has no state of theirs to be kept.
        remember, find_place = forward_at_rest(plan.who, state.draws is not False), None if rest.is_tiny else here

        def look(module: nn.Module, args: tuple, kwargs: dict) -> bool:
            if not state.is_plain or not (plan.shapes is None or plan.shapes == shapes_of((args, kwargs))):
                return False
            if forwards:
                if len(forwards) >= _FORWARDS:
                    return False
                forwards[-1].let_go()
            forwards.append(remember(module, args, kwargs, find_place and find_place()))
            return True

        return look

    def quick_before_backward(self, plan: Plan) -> Callable[[Any], bool]:
        state = self._states.own

        def look(loss: Any) -> bool:
            if type(loss) is not _Tensor or not state.is_plain or not loss.is_cpu or (any_function_ran[0] and running.step is not None):
                return False
            return none_active() and _is_finite(loss.item())  # of several values it fails

        return look

    def quick_on_backward(self, plan: Plan) -> Callable[[], bool]:
        marks, accounts, all_finite = self._states.own.marks, [*self.ledger], finite_here()

        def look() -> bool:
            for account in accounts:
                grads = [*map(_grad_of, account.params)]
                if {*map(type, grads)} == _PLAIN:
                    if not all_finite(grads):
                        return False
                else:
                    grads = [grad for grad in grads if grad is not None]
                    with without_subclasses():
                        if grads and not (_PLAIN.issuperset(map(type, grads)) and all_finite(grads)):
                            return False
                if grads:
                    first = grads[0]
                    marks[account.key] = id(first), first._version
                else:
                    marks[account.key] = None
            return True

        return look

    def quick_before_optimizer_step(self, plan: Plan) -> Callable[[Any], bool]:
        state, key = self._states.own, plan.who
        account, marks, forwards = self.ledger.accounts[key], state.marks, state.forwards

        def look(optimizer: Any) -> bool:
            if not state.is_plain or (any_function_ran[0] and running.step is not None):
                return False
            grad = account.params[0].grad
            if ((id(grad), grad._version) if grad is not None else _mark(account)) != marks.get(key, -1):
                return False
            for forward in forwards:
                forward._given = None
            forwards.clear()
            return True

        return look

    def _first_look(self, module: nn.Module) -> None:
        if _distributed():
            self.ranks.arrives()
        parameters = [p for p in parameters_of(module) if not is_lazy(p)]
        if not finite([p.detach() for p in parameters]):
            self.bad_from_the_start |= {id(p) for p in parameters if not finite([p.detach()])}

    def on_scaler_scale(self, event: Event) -> None:
        self.state.is_plain = False
        if isinstance(event.scaled, torch.Tensor):
            self.state.scaled = weakref.ref(event.scaled)

    def before_backward(self, event: Event) -> None:
        state, loss = self.state, event.subject
        state.is_plain = False
        if rest.possible and not event.rested and not state.draws and state.forwards:
            state.draws = state.forwards[0].drew()
        if running.step is not None:
            running.step.backwards += 1
        state.backward, state.bad_loss, state.deferred = event, False, None
        state.is_scaled = state.scaled is not None and state.scaled() is loss
        if state.in_closure:
            state.in_closure += 1
        if self._does_not_count() or not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            return
        if loss.is_cpu:
            value = loss.item()
            if not math.isfinite(value):
                self._bad_loss(event, value, loss)
        elif loss.is_floating_point():
            state.losses.append(loss.detach())

    def _does_not_count(self) -> bool:
        """A line search may try what it likes, as long as it starts from finite values. A scaled loss or its gradients
        may be infinite because of the scale: the scaler skips the step, and that is counted."""
        state = self.state
        return state.in_closure > 2 or (state.is_scaled and max(self.skips.values(), default=0) < _SKIPS - 1)

    def on_backward(self, event: Event) -> None:
        state = self.state
        losses, state.losses = state.losses, []
        if event.rested:  # only now it matters
            state.backward, state.bad_loss = event, False
        if self._does_not_count():
            return
        accounts = self.ledger if event.reached is None else event.reached
        grads = [grad for account in accounts for grad in map(_grad_of, account.params) if grad is not None]
        is_fine = finite(losses + grads)
        if state.deferred is not None:
            self._tell_deferred(state.deferred, is_fine, sys._getframe(1))
        if is_fine:
            for account in accounts:
                key = id(account.optimizer)
                state.marks[key] = _mark(account)
                state.pending.pop(key, None)
            return
        event.where()
        for loss in losses:
            if not finite([loss]):
                self._bad_loss(event, loss.item(), None)
        for account in accounts:
            key = id(account.optimizer)
            state.marks.pop(key, None)
            old, mark = state.pending.pop(key, None), _mark(account)
            if old is not None and old.goes_on(mark):
                state.pending[key] = old._replace(mark=mark)
            elif not (state.bad_loss or self._all_is_lost()) and (fact := _bad_gradients(account)):
                outcome = self._after_backward(grads, event, sys._getframe(1))
                state.pending[key] = _Symptom(fact, outcome, event, mark=mark)
                if state.in_closure:
                    self._tell(state.pending.pop(key), event)

    def on_loss(self, event: Event) -> None:
        """A loss that torch refuses to compute because what it was given is NaN: no backward will ask."""
        given = event.input if event.error is not None else None
        if not isinstance(given, torch.Tensor) or not given.requires_grad or finite([given.detach()]):
            return
        if self._all_is_lost() or not all(map(_can_run, self.watch.modules())):
            return
        self.replays += 1
        outcome = self._forward_again()
        if outcome.origin is None or outcome.origin.external is not None:  # the model that ran last was given it
            outcome = refused.again(refused.above(sys._getframe(1)), self.watch.modules(), self.state.forwards)
        self._tell_refused(event, f"`{event.subject}` was refused: `{name_of(given) or 'its input'}` is not finite", outcome)

    def on_error(self, event: Event) -> None:
        """A distribution that is refused its parameters, or to be drawn from."""
        if self.ill is None and refused.of_nan(event.error) and all(map(_can_run, self.watch.modules())):
            functions = refused.passed(event.error.__traceback__)
            outcome = refused.again(functions, self.watch.modules(), self.state.forwards)
            self._tell_refused(event, "torch refused what came of it", outcome)

    def _tell_refused(self, event: Event, fact: str, outcome: replay.Outcome) -> None:
        if outcome.origin is not None and outcome.origin.external is None and not outcome.origin.record.given:
            self._report(event, _Symptom(fact, outcome, None, True), outcome.origin)

    def before_scaler_step(self, event: Event) -> None:
        self.state.is_plain = False
        self.state.in_scaler = (event.optimizer, False)

    def before_optimizer_step(self, event: Event) -> None:
        state, optimizer = self.state, event.subject
        state.is_plain = False
        if event.closure:
            state.in_closure = 1
            return
        scaler = state.in_scaler is not None and state.in_scaler[0] is optimizer
        account = self.ledger.account(optimizer)
        symptom = state.pending.pop(id(optimizer), None)
        if scaler and not getattr(optimizer, "_step_supports_amp_scaling", False):
            fine = True  # the scaler has looked
        elif symptom is None and _mark(account) == state.marks.get(id(optimizer), -1):
            fine = True
        else:
            fine = finite([p.grad for p in account.params if p.grad is not None])
        if scaler:
            state.in_scaler = (optimizer, fine)
            if not fine:  # a fused optimizer is called all the same, and skips by itself
                if symptom is not None:
                    state.pending[id(optimizer)] = symptom
                return
        if fine:
            self.ill = None
            self.ledger.ill = False
            self.skips.pop(id(optimizer), None)
        elif symptom is not None:
            self._tell(symptom, event)
        elif not state.bad_loss:
            if self.ill is not None and state.tracer is None:
                self.watch.gathered.seen(self.ill)
            elif fact := _bad_gradients(account):
                grads = [p.grad for p in account.params if p.grad is not None]
                self._tell(_Symptom(fact, self._origin(grads, None, sys._getframe(1)), state.backward), event)

    def on_optimizer_step(self, event: Event) -> None:
        self.state.in_closure = 0
        if running.step is not None:
            running.step.stepped = True
        self._end_of_step()
        state = self.state
        unusual = state.scaled, state.in_scaler, state.tracer, self.ill
        state.is_plain = unusual == (None,) * 4 and not (state.pending or state.left_behind or self.skips)

    def on_scaler_step(self, event: Event) -> None:
        optimizer, stepped = self.state.in_scaler or (None, True)
        self.state.in_scaler = None
        if optimizer is None or stepped:
            return
        skips = self.skips[id(optimizer)] = self.skips.get(id(optimizer), 0) + 1
        # As long as it is the scale alone, the replay (which goes without it) is finite.
        symptom = self.state.pending.pop(id(optimizer), None)
        if symptom is not None and symptom.outcome.origin is not None:
            self._tell(symptom._replace(fact=f"the scaler skipped {skips} steps in a row"), event)
        self._end_of_step()

    def _end_of_step(self) -> None:
        state = self.state
        for forward in state.forwards:
            forward.let_go()
        state.forwards.clear()
        state.losses.clear()
        if state.left_behind:
            state.left_behind = [tracer for tracer in state.left_behind if not tracer.stop()]
        if state.tracer is not None and not state.tracer.next_step():
            self._look_no_longer()

    def close(self) -> None:
        self._look_no_longer()
        self._end_of_step()

    # What it does about it.

    def _all_is_lost(self) -> bool:
        """NaN was told of and has gone into the parameters: there is nothing more to be found."""
        return (self.ill is not None and self.state.tracer is None) or self.replays >= _REPLAYS

    def _bad_loss(self, event: Event, value: float, loss: Any) -> None:
        event.where()
        self.state.bad_loss = True
        if self.ill is not None and self.state.tracer is None:
            self.watch.gathered.seen(self.ill)
        elif not self._all_is_lost():
            if loss is not None and _distributed() and sharded.is_sharded(self.watch.modules()):
                self.state.deferred = _Deferred(event, value, name_of(loss), bad_operation(loss) or "")
                return
            ends = [event.subject.detach()] if loss is None else [loss.detach()]
            outcome = self._origin(ends, event, sys._getframe(1))
            graph = bad_operation(loss) if loss is not None and outcome.origin is None else None
            symptom = _Symptom(f"the loss is {value}", outcome, event, True, in_graph=graph or "")
            self._tell(symptom, event, name_of(loss))

    def _tell_deferred(self, deferred: _Deferred, is_fine: bool, frame: FrameType | None) -> None:
        self.state.deferred = None
        event, value, name, in_graph = deferred
        ends = [event.subject.detach()]
        # Where this rank's gradients are finite, the others' may be: then they do not look, and must not be waited for.
        outcome = self._origin(ends, event, frame) if is_fine else self._after_backward(ends, event, frame)
        self._tell(_Symptom(f"the loss is {value}", outcome, event, True, in_graph=in_graph), event, name)

    def _after_backward(self, ends: list[torch.Tensor], event: Event, frame: FrameType | None) -> replay.Outcome:
        """The origin, where the other ranks have just been through the same backward."""
        self.state.together = True
        try:
            return self._origin(ends, event, frame)
        finally:
            self.state.together = False

    def _origin(self, ends: list[torch.Tensor], backward: Event | None, frame: FrameType | None) -> replay.Outcome:
        """Where `ends`, which are not finite, come from."""
        tracer = self.state.tracer
        if tracer is not None:
            found = tracer.origin(ends)
            if found is not None and found[1] is None:
                self._look_no_longer()
                return replay.Outcome(replay.Origin(*found, ("seen in the run itself",)), "")
            return replay.Outcome(None, "")
        self.replays += 1
        backward = backward or self.state.backward
        if not _distributed():
            return self._replay(backward, frame)
        step = self.ledger.step
        self.ranks.begins(step)
        outcome = self._replay(backward, frame)
        self.ranks.found(step, _in_brief(outcome))
        if outcome.origin is None and self.state.together:
            return outcome._replace(elsewhere=self.ranks.heard(step))
        return outcome

    def _replay(self, backward: Event | None, frame: FrameType | None) -> replay.Outcome:
        """The whole step again where its function is known; or the lines from the forward to the loss; or where those
        cannot be run again the forward alone."""
        modules, forwards = self.watch.modules(), self.state.forwards
        whole: dict[int, torch.Tensor] = {}
        if not all(map(_can_run, modules)):
            why = self._why_alone(modules, backward)
            if why:
                return replay.Outcome(None, f"{_SPREAD}, and {why}")
            whole = sharded.gather(modules)
        step = running.step
        outcome = replay.Outcome(None, "no forward of a model was seen")
        if step is not None:
            parameters = [p for account in self.ledger for p in account.params]
            outcome = replay.run(lambda: step.loss(parameters), modules, forwards, step.inputs(), in_step=True, whole=whole)
            outcome = outcome._replace(ran="the step")
            if outcome.origin is not None:
                return outcome
        lines = _lines(backward, frame)
        if lines is not None:
            outcome = replay.run(lines.run, modules, forwards, lines.inputs(), whole=whole)._replace(ran="what leads to the loss")
        if outcome.origin is not None or not forwards:
            return outcome
        second = self._forward_again(whole)
        if not second.ran:
            return outcome if outcome.ran else second
        return outcome if outcome.ran and second.origin is None else second

    def _why_alone(self, modules: list[nn.Module], backward: Event | None) -> str:
        """Why the ranks do not gather a sharded model; "" where all of them do so now."""
        if not sharded.is_sharded(modules):
            return sharded.why_not(modules) or "not by `fully_shard`"
        if not self.state.together:
            return "its ranks are not at the same place"
        place = backward._where if backward is not None else None
        content = f"{place and place.location()} {sharded.outline(modules)}"
        return self.ranks.vote(self.ledger.step, content, sharded.why_not(modules))

    def _forward_again(self, whole: dict[int, torch.Tensor] | None = None) -> replay.Outcome:
        """The last forward alone."""
        forwards = self.state.forwards
        called = forwards[-1].call() if forwards else "no forward of a model was seen"
        if isinstance(called, str):
            return replay.Outcome(None, called)
        module, args, kwargs = called
        inputs = {f"input {at}": value for at, value in enumerate(args)} if len(args) > 1 else {"the input": args}
        again = replay.run(lambda: module(*args, **kwargs), [module], forwards[-1:], {**inputs, **kwargs}, True, whole=whole or {})
        return again._replace(ran="the forward of the model, without the loss behind it,")

    def _tell(self, symptom: _Symptom, event: Event, loss: str | None = None) -> None:
        if symptom.outcome.origin is not None:
            self._report(event, symptom, symptom.outcome.origin)
            return
        if self.state.tracer is not None:
            if self.ill is not None:
                self.watch.gathered.seen(self.ill)
            return  # it came from before, once more
        if self.state.is_scaled and not symptom.of_loss:
            return  # the scale alone, and a step that by-passes the scaler: that is 705
        ran, found = symptom.outcome.ran, symptom.outcome.why
        if symptom.outcome.elsewhere and not symptom.of_loss:
            fact = f"what this rank did came out finite; {symptom.outcome.elsewhere}" if found == replay.FINITE else (
                symptom.outcome.elsewhere)
            self._say(event, 422, event.where(), (), {}, what=symptom.fact, mend="mend it there", fact=fact)
            return
        again = f"{ran or 'the step'} could not be run again: {found}"
        if found == replay.FINITE:
            again = f"{ran} was run again, and {found}"
        why = f"{again}; {self._look_from_now_on()}"
        if symptom.in_graph:
            why = f"{symptom.in_graph}; {why}"
        if running.step is None and ran != "what leads to the loss" and not found.startswith(_SPREAD):
            why += f"; {hint()}"
        if symptom.of_loss:
            self._say(event, 121, symptom.backward.where(), (), {}, loss=loss, fact=f"{symptom.fact}; {why}")
        else:
            self._say(event, 422, event.where(), (), {}, what=symptom.fact, mend=verdict.UNKNOWN, fact=why)

    def _look_from_now_on(self) -> str:
        """Look at every operation of the next steps. Gives what is said of it."""
        modules = self.watch.modules()
        if any(map(is_compiled, modules)) or compiled_frames() > self.compiled:
            return "the next steps are not looked into: compiled code would run uncompiled"
        if _distributed():
            return "here the next steps are not looked into; where another rank made it, that rank tells"
        self.state.tracer = Instrumented(modules)
        self.state.tracer.start()
        return "every operation of the next steps is looked at"

    def _look_no_longer(self) -> None:
        tracer, self.state.tracer = self.state.tracer, None
        if tracer is not None and not tracer.stop():
            self.state.left_behind.append(tracer)

    def _report(self, event: Event, symptom: _Symptom, origin: replay.Origin) -> None:
        record, external = origin.record, origin.external
        place = record.where or (self.state.forwards[-1].place if self.state.forwards else event.where())
        end = symptom.backward._where if symptom.backward is not None else None
        related = [(end, symptom.fact)] if end is not None and end != place else []
        details: dict[str, Any] = {"operation": record.operation, "direction": _direction(record)}
        if record.node is not None and record.backward:
            details["node"] = record.node
        if record.module:
            details["module"] = record.module
        details.update(record.inputs)
        if origin.notes:
            details["replay"] = "; ".join(origin.notes)
        words = {"what": verdict.told(record, external), "mend": verdict.mend(record, external), "fact": symptom.fact}
        if external is not None and external.kind == "input" and self.watch.wants(423):
            forward = next((one.place for one in self.state.forwards if one.had(external.address)), None)
            fact = f"{external.name} holds NaN or infinite values"
            self._say(event, 423, forward or place, tuple(related), details, name=external.name, fact=fact)
            return
        step = self._step_of(external or record.large)
        if step is not None:
            name, state = (external or record.large).name, "NaN or infinite" if external is not None else "huge"
            related.insert(0, (place, f"`{name}` is used here"))
            words["what"] = f"this step blew up: it left `{name}` {state}"
            words["mend"] = "lower the learning rate, warm it up, or clip the gradients before the step"
            self._say(event, 422, step.where(), tuple(related), details, **words)
        elif not self._uninitialised(event, record, external, symptom, related, details):
            grown = self._diverged() if words["mend"] is verdict.GENERAL else None
            if grown is not None:
                stepped, words["what"] = grown[0], f"{words['what']}: the run diverges, its loss went {grown[1]}"
                words["mend"] = "lower the learning rate, warm it up, or clip the gradients before the step"
                related.insert(0, (stepped, "the step that goes too far"))
            self._say(event, 422, place, tuple(related), details, **words)

    def _step_of(self, blamed: External | None) -> Event | None:
        """The step that last wrote to a parameter that was finite when it was first used."""
        if blamed is None or blamed.kind != "parameter":
            return None
        for module in self.watch.modules():
            for name, parameter in module.named_parameters():
                if name == blamed.name and id(parameter) not in self.bad_from_the_start:
                    for account in self.ledger:
                        if id(parameter) in account.ids and "step" in account.last:
                            return account.last["step"]
        return None

    def _diverged(self) -> tuple[Where, str] | None:
        """Where a loss has only grown, step by step, until something overflowed: the line of the last step, and how far it
        went."""
        step = max((a.last["step"] for a in self.ledger if "step" in a.last), key=lambda event: event.number, default=None)
        place = step.where() if step is not None else None
        for line in self.watch.series.of("loss").values() if place is not None else ():
            values = [value for value in line.means if math.isfinite(value)]
            if len(values) > 1 and 0 < values[0] * _GROWN < values[-1] and values == sorted(values):
                return place, f"from {values[0]:.3g} to {values[-1]:.3g}"
        return None

    def _uninitialised(
        self,
        event: Event,
        record: Record,
        external: External | None,
        symptom: _Symptom,
        related: list,
        details: dict,
    ) -> bool:
        """413: memory is filled with NaN at this level, so a NaN from nowhere is memory that nobody wrote to."""
        if self.watch.options.level != "memory" or not self.watch.wants(413):
            return False
        if external is not None and external.kind in ("parameter", "buffer") and external.nan and external.name:
            place = self._made(external.name) or record.where
            self._say(event, 413, place, tuple(related), details, name=external.name, fact=symptom.fact)
            return True
        if record.fresh:
            self._say(event, 413, record.where, tuple(related), details, name=record.operation, fact=symptom.fact)
            return True
        return False

    def _made(self, path: str) -> Where | None:
        """The line that assigns a parameter or buffer, by its path in one of the roots."""
        owner, _, name = path.rpartition(".")
        for root in self.watch.modules():
            try:
                module = root.get_submodule(owner)
            except AttributeError:
                continue
            if hasattr(module, name):
                return assigned(module, name)
        return None

    def _say(
        self, event: Event, number: int, place: Where | None, related: tuple, details: dict, **words: Any
    ) -> None:
        if number != 121 and not self.watch.wants(number):
            number = 121
        self.ill = (number, place and (place.code.co_filename, place.line))
        self.ledger.ill = True
        counted = event.rested and event.name == "optimizer.step"  # at rest, a step is counted when it begins
        self.found(number, place, related=related, details=details, step=self.ledger.step - bool(counted), **words)


def _in_brief(outcome: replay.Outcome) -> str:
    """What is told to the other ranks of what this one found: "`log` makes NaN out of finite values (train.py:12)"."""
    if outcome.origin is None:
        return ""
    record, external, _ = outcome.origin
    at = record.where.location() if record.where is not None else None
    return verdict.told(record, external) + (f" ({at.filename}:{at.row})" if at is not None else "")


def _direction(record: Record) -> str:
    return "backward" if record.backward else "forward"


def _mark(account: Account) -> tuple[int, int] | None:
    """Tells whether gradients were replaced or written to: that of the first parameter does as it happens to all."""
    for p in account.params:
        grad = p.grad
        if grad is not None:
            return id(grad), grad._version
    return None


def _bad_gradients(account: Account) -> str:
    grads = [p.grad for p in account.params if p.grad is not None]
    count = sum(not finite([grad]) for grad in grads)
    return f"the gradients of {count} of {len(grads)} parameters are not finite" if count else ""


def _lines(backward: Event | None, frame: FrameType | None) -> rerun.Again | None:
    """The lines that made the loss, where the function that called backward is still running."""
    place = backward._where if backward is not None else None  # where nobody asked in time there is none
    while frame is not None and place is not None:
        if frame.f_code is place.code:
            return rerun.lines_to(frame, place)
        frame = frame.f_back
    return None


def _distributed() -> bool:
    dist = torch.distributed
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _can_run(module: nn.Module) -> bool:
    """Whether a module can be run again by this process alone."""
    if not _distributed():
        return True
    for part in parts_of(module):
        name = type(part).__name__
        if isinstance(part, nn.SyncBatchNorm) or "FSDP" in name or "FullySharded" in name:
            return False
    return not any(hasattr(p, "device_mesh") for p in parameters_of(module))


CHECKS = (NonFinite,)
