"""Quick looks while a model rests: what comes first of what `checks/tensors/nonfinite.py` does at each event, where all is as
ever. A look that gives False has the event told in full."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import nn

from torchsan.nonfinite.sentinel import finite_here
from torchsan.nonfinite.step_function import any_ran as any_function_ran
from torchsan.nonfinite.step_function import local as running
from torchsan.nonfinite.step_state import State, mark_of
from torchsan.own import math, torch
from torchsan.program.where import here
from torchsan.stream.events import rest
from torchsan.stream.forward_start import at_rest as forward_at_rest
from torchsan.stream.ledger import Account
from torchsan.stream.modes import none_active, without_subclasses
from torchsan.stream.resting_checks import Plan, shapes_of

FORWARDS = 8  # remembered since the last step
grad_of = operator.attrgetter("grad")
_Tensor, _is_finite = torch.Tensor, math.isfinite
_PLAIN = {_Tensor}


def _nothing_to_see(*_: Any) -> bool:
    return True


def before_forward(state: State, plan: Plan) -> Callable[[nn.Module, tuple, dict], bool]:
    if plan.depth or not plan.grad:
        return _nothing_to_see
    forwards = state.forwards
    # A loop that drew no random numbers in all the steps that were heard has no state of theirs to be kept.
    remember, find_place = forward_at_rest(plan.who, state.draws is not False), None if rest.is_tiny else here

    def look(module: nn.Module, args: tuple, kwargs: dict) -> bool:
        if not state.is_plain or not (plan.shapes is None or plan.shapes == shapes_of((args, kwargs))):
            return False
        if forwards:
            if len(forwards) >= FORWARDS:
                return False
            forwards[-1].let_go()
        forwards.append(remember(module, args, kwargs, find_place and find_place()))
        return True

    return look


def before_backward(state: State) -> Callable[[Any], bool]:
    def look(loss: Any) -> bool:
        if type(loss) is not _Tensor or not state.is_plain or not loss.is_cpu or (any_function_ran[0] and running.step is not None):
            return False
        return none_active() and _is_finite(loss.item())  # of several values it fails

    return look


def on_backward(state: State, accounts: list[Account]) -> Callable[[], bool]:
    marks, all_finite = state.marks, finite_here()

    def look() -> bool:
        for account in accounts:
            grads = [*map(grad_of, account.params)]
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


def before_optimizer_step(state: State, account: Account) -> Callable[[Any], bool]:
    key, marks, forwards = account.key, state.marks, state.forwards

    def look(optimizer: Any) -> bool:
        if not state.is_plain or (any_function_ran[0] and running.step is not None):
            return False
        grad = account.params[0].grad
        if ((id(grad), grad._version) if grad is not None else mark_of(account)) != marks.get(key, -1):
            return False
        for forward in forwards:
            forward._given = None
        forwards.clear()
        return True

    return look
