"""121 and 422: a loss or a gradient that is not finite, and the operation that made it so; 413 at level="memory".

Every loss is looked at when backward is called on it, all gradients after each backward (of many thousands every second,
third ...). Where one is not finite the step is run again at once, while the lines that made the loss are still running
(`replay.py`); it is told when backward was called on such a loss, or when an optimizer steps on such gradients: who skips
the step has taken care of it.

One cause, one finding: where the origin can be told it is 422, on the origin's line; where it cannot, it is 121 on the
line of backward for a loss, and 422 on that of the step for gradients, and the next steps are looked at operation by
operation (`instrumented.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy

from torchsan.check import Check
from torchsan.nonfinite import quick_looks, refused, replay, sharded
from torchsan.nonfinite.loss_graph import bad_operation
from torchsan.nonfinite.quick_looks import FORWARDS, grad_of
from torchsan.nonfinite.search import Search
from torchsan.nonfinite.sentinel import finite
from torchsan.nonfinite.step_function import local as running
from torchsan.nonfinite.step_state import Deferred, State, States, Symptom, bad_gradients, mark_of
from torchsan.nonfinite.telling import Telling
from torchsan.own import math, torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.walks import parameters_of
from torchsan.stream.events import Event, rest
from torchsan.stream.forward_start import Remembered
from torchsan.stream.ledger import Account
from torchsan.stream.resting_checks import Plan
from torchsan.stream.weak_ids import WeakIds

_SKIPS = 3  # a scaler copes with an overflow now and then; steps skipped in a row before we look


class NonFinite(Check):
    """A NaN or an infinite value came up: the first operation that made it out of finite ones."""

    numbers = (121, 422, 413)
    always = True  # the first bad step is the one that tells
    asleep_to = ("loss",)  # one that torch refuses is told all the same

    def __init__(self, watch: Any):
        super().__init__(watch)
        self._states = States()
        self.search = Search(watch, self._states)
        self.telling = Telling(self, self.search)
        self.skips: dict[int, int] = {}  # in a row, by optimizer
        self.known = WeakIds()  # root modules whose parameters were looked at

    @property
    def state(self) -> State:
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
        if len(forwards) > FORWARDS:
            del forwards[0]

    # Quick looks while a model rests.

    def quick_before_forward(self, plan: Plan) -> Callable[[nn.Module, tuple, dict], bool]:
        return quick_looks.before_forward(self.state, plan)

    def quick_before_backward(self, plan: Plan) -> Callable[[Any], bool]:
        return quick_looks.before_backward(self.state)

    def quick_on_backward(self, plan: Plan) -> Callable[[], bool]:
        return quick_looks.on_backward(self.state, [*self.ledger])

    def quick_before_optimizer_step(self, plan: Plan) -> Callable[[Any], bool]:
        return quick_looks.before_optimizer_step(self.state, self.ledger.accounts[plan.who])

    # What it hears, in full.

    def _first_look(self, module: nn.Module) -> None:
        if sharded.is_distributed():
            self.search.ranks.arrives()
        parameters = [p for p in parameters_of(module) if not is_lazy(p)]
        if not finite([p.detach() for p in parameters]):
            self.telling.bad_from_the_start |= {id(p) for p in parameters if not finite([p.detach()])}

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
        is_fine = finite(losses + [grad for account in accounts for grad in self._looked_at(account)])
        grads = [] if is_fine else [grad for account in accounts for grad in map(grad_of, account.params) if grad is not None]
        if state.deferred is not None:
            self._tell_deferred(state.deferred, is_fine, sys._getframe(1))
        if is_fine:
            for account in accounts:
                key = id(account.optimizer)
                state.marks[key] = mark_of(account)
                state.pending.pop(key, None)
            return
        event.where()
        for loss in losses:
            if not finite([loss]):
                self._bad_loss(event, loss.item(), None)
        for account in accounts:
            key = id(account.optimizer)
            state.marks.pop(key, None)
            old, mark = state.pending.pop(key, None), mark_of(account)
            if old is not None and old.goes_on(mark):
                state.pending[key] = old._replace(mark=mark)
            elif not (state.bad_loss or self._all_is_lost()) and (fact := bad_gradients(account)):
                outcome = self.search.after_backward(grads, event, sys._getframe(1))
                state.pending[key] = Symptom(fact, outcome, event, mark=mark)
                if state.in_closure:
                    self.telling.tell(state.pending.pop(key), event)

    def _looked_at(self, account: Account) -> list[torch.Tensor]:
        """Its gradients; of very many some, as what is not finite goes on to the gradients of all that comes before."""
        return [grad for grad in map(grad_of, account.params if self.thorough else account.few) if grad is not None]

    def on_loss(self, event: Event) -> None:
        """A loss that torch refuses to compute because what it was given is NaN: no backward will ask."""
        given = event.input if event.error is not None else None
        if not isinstance(given, torch.Tensor) or not given.requires_grad or finite([given.detach()]):
            return
        if self._all_is_lost() or not all(map(sharded.runs_alone, self.watch.modules())):
            return
        self.search.replays += 1
        outcome = self.search.forward_again()
        if outcome.origin is None or outcome.origin.external is not None:  # the model that ran last was given it
            outcome = refused.again(refused.above(sys._getframe(1)), self.watch.modules(), self.state.forwards)
        self._tell_refused(event, f"`{event.subject}` was refused: `{name_of(given) or 'its input'}` is not finite", outcome)

    def on_error(self, event: Event) -> None:
        """A distribution that is refused its parameters, or to be drawn from."""
        if self.telling.ill is None and refused.of_nan(event.error) and all(map(sharded.runs_alone, self.watch.modules())):
            functions = refused.passed(event.error.__traceback__)
            outcome = refused.again(functions, self.watch.modules(), self.state.forwards)
            self._tell_refused(event, "torch refused what came of it", outcome)

    def _tell_refused(self, event: Event, fact: str, outcome: replay.Outcome) -> None:
        if outcome.origin is not None and outcome.origin.external is None and not outcome.origin.record.given:
            self.telling.report(event, Symptom(fact, outcome, None, True), outcome.origin)

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
        elif symptom is None and mark_of(account) == state.marks.get(id(optimizer), -1):
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
            self.telling.ill = None
            self.ledger.ill = False
            self.skips.pop(id(optimizer), None)
        elif symptom is not None:
            self.telling.tell(symptom, event)
        elif not state.bad_loss:
            if self.telling.ill is not None and state.tracer is None:
                self.watch.gathered.seen(self.telling.ill)
            elif fact := bad_gradients(account):
                grads = [p.grad for p in account.params if p.grad is not None]
                self.telling.tell(Symptom(fact, self.search.origin(grads, None, sys._getframe(1)), state.backward), event)

    def on_optimizer_step(self, event: Event) -> None:
        self.state.in_closure = 0
        if running.step is not None:
            running.step.stepped = True
        self._end_of_step()
        state = self.state
        unusual = state.scaled, state.in_scaler, state.tracer, self.telling.ill
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
            self.telling.tell(symptom._replace(fact=f"the scaler skipped {skips} steps in a row"), event)
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
            self.search.look_no_longer()

    def close(self) -> None:
        self.search.look_no_longer()
        self._end_of_step()

    # What it does about it.

    def _all_is_lost(self) -> bool:
        """NaN was told of and has gone into the parameters: there is nothing more to be found."""
        return (self.telling.ill is not None and self.state.tracer is None) or self.search.is_used_up

    def _bad_loss(self, event: Event, value: float, loss: Any) -> None:
        event.where()
        self.state.bad_loss = True
        if self.telling.ill is not None and self.state.tracer is None:
            self.watch.gathered.seen(self.telling.ill)
        elif not self._all_is_lost():
            if loss is not None and sharded.is_distributed() and sharded.is_sharded(self.watch.modules()):
                self.state.deferred = Deferred(event, value, name_of(loss), bad_operation(loss) or "")
                return
            ends = [event.subject.detach()] if loss is None else [loss.detach()]
            outcome = self.search.origin(ends, event, sys._getframe(1))
            graph = bad_operation(loss) if loss is not None and outcome.origin is None else None
            symptom = Symptom(f"the loss is {value}", outcome, event, True, in_graph=graph or "")
            self.telling.tell(symptom, event, name_of(loss))

    def _tell_deferred(self, deferred: Deferred, is_fine: bool, frame: FrameType | None) -> None:
        self.state.deferred = None
        event, value, name, in_graph = deferred
        ends = [event.subject.detach()]
        # Where this rank's gradients are finite, the others' may be: then they do not look, and must not be waited for.
        outcome = self.search.origin(ends, event, frame) if is_fine else self.search.after_backward(ends, event, frame)
        self.telling.tell(Symptom(f"the loss is {value}", outcome, event, True, in_graph=in_graph), event, name)


CHECKS = (NonFinite,)
