"""104, 105: gradients of several batches in one step: not divided by how many, or left over from the epoch before."""

from __future__ import annotations

import ast
from typing import Any

from torchsan.check import Check
from torchsan.own import re, torch, weakref
from torchsan.program.callers import accelerator_divides_by
from torchsan.program.naming import name_of
from torchsan.program.source import tree_of
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_CYCLES = 2  # equal steps in a row before anything is said
MEAN = 1  # what the nodes of torch's losses save for reduction="mean"
# A larger gradient is a larger step for these; Adam and its like divide by the size of the gradients.
_PLAIN = frozenset(("SGD", "ASGD"))


class _State:
    """How an optimizer's steps come about."""

    def __init__(self) -> None:
        self.raw = 0  # backwards of this step on a mean over a batch of its own, as it came from the loss function
        self.loader = 0  # id of the loader that these batches came from
        self.mark: tuple[int, int] | None = None  # the first gradient after the last backward
        self.every = 0  # batches in the last step
        self.stepped = 0  # the number of the step before this one
        self.same = 0  # steps in a row with as many
        self.undivided = 0  # of these, those whose backwards were all raw
        self.left: tuple[int, int, Event] | None = None  # at the end of a pass: batches, its number, the backward


class Accumulation(Check):
    """Gradients of several batches are added up wrongly."""

    numbers = (104, 105)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.states: dict[int, _State] = self.ledger.while_alive({})
        self.batch = 0  # the number of the last batch's event, until a backward has used it
        self.loader = 0
        self.ended = False  # a pass was, and no backward of a batch of another since
        self.over = 0  # id of the loader whose pass it was, and no backward since: it may have given its last batch before that was used
        self.given: weakref.ref | None = None  # what the model was given last
        self.new = False  # that was another tensor than before, and no backward since
        self.written: dict[tuple, bool] = {}  # by the lines of a backward and a step: whether the text accumulates

    def on_loader_batch(self, event: Event) -> None:
        self.batch, self.loader = event.number, id(event.subject)

    def before_forward(self, event: Event) -> None:
        if not event.depth and event.grad:
            given = next((one for one in event.args if isinstance(one, torch.Tensor)), None)
            self.new = given is not None and (self.given is None or self.given() is not given)
            self.given = weakref.ref(given) if given is not None else None

    def on_backward(self, event: Event) -> None:
        fresh, self.batch = self.batch, 0
        by_hand, self.new = self.new and not fresh, False
        for account in event.reached:
            state = self.states.get(id(account))
            if state is None:
                state = self.states[id(account)] = _State()
            late = not fresh and 0 != state.loader == self.over
            own = by_hand and not late
            if late and state.left is not None:
                state.left = state.left[0] + 1, event.number, event
            if account.backwards == 1:
                state.raw, state.loader = 0, 0 if own else self.loader
            if not (own or fresh or late) or state.loader != (0 if own else self.loader) or state.raw != account.backwards - 1:
                continue
            state.raw += 1
            if account.backwards > 1:  # a step of one backward is none of ours: the look at its loss is left out
                state.raw = state.raw if _is_mean(event) else -1
                state.mark = _first(account)
        self.over = 0

    def on_loader_end(self, event: Event) -> None:
        self.ended, self.over = True, id(event.subject)
        for account in self.ledger:
            state = self.states.get(id(account))
            if state is not None and "backward" in account.last and account.steps and state.loader == id(event.subject):
                state.left = account.backwards, event.number, account.last["backward"]

    def before_backward(self, event: Event) -> None:
        if not self.ended or self.over and not self.batch:  # Accelerate's loaders have the last batch before it is used
            return
        self.ended = False
        for account in self.ledger:
            state = self.states.get(id(account))
            if state is not None and state.left is not None:
                if account.number("zero_grad") > state.left[1] or _first(account) is None:
                    state.left = None  # dropped, and not carried over

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self.states.get(id(account))
        if state is None:
            return
        every = account.backwards
        left, state.left = state.left, None
        state.stepped = account.number("step")
        if left is not None and left[0] and state.every > 1 and state.same >= _CYCLES and every == state.every + left[0]:
            self._left_over(state, left, event)
        elif every > 1:
            state.same = state.same + 1 if every == state.every else 1
            whole = state.raw == every and state.mark is not None and self._untouched(account, state)
            state.undivided = state.undivided + 1 if whole and state.same > 1 else int(whole)
            state.every = every
            if state.undivided >= _CYCLES and size_matters(account):
                if state.loader or self._is_written_so(account.last["backward"], event):
                    self._undivided(account, state, event)
        else:
            state.every, state.same, state.undivided = every, 1, 0
        state.raw = 0

    def _left_over(self, state: _State, left: tuple[int, int, Event], event: Event) -> None:
        name = name_of(event.subject) or "optimizer"
        # A tiny model's loop is listened to in part: then the backwards that are left over were not counted.
        counted = left[2].number > state.stepped
        batches = state.every + left[0]
        fact = f"this step is made of {batches} batches, {left[0]} of them" if counted else "some of its batches are"
        self.found(
            105,
            event,
            call=f"{name}.step()",
            every=state.every,
            fact=f"{fact} from the pass before",
            related=((left[2], "the last backward of the pass before, which no step followed"),) if counted else (),
            details={"batches": batches, "left_over": left[0]} if counted else {},
        )

    def _undivided(self, account: Account, state: _State, event: Event) -> None:
        backward = account.last["backward"]
        loss = name_of(backward.subject) or "loss"
        self.found(
            104,
            backward,
            call=f"{loss}.backward()",
            loss=loss,
            every=state.every,
            fact="each loss is the mean over its batch, as the loss function gave it",
            related=((event, f"the step, once in {state.every} batches"),),
            details={"batches": state.every},
        )

    def _is_written_so(self, backward: Event, step: Event) -> bool:
        """Without a loader, inputs may be of several tasks, or real and made up: that they are batches must say the text."""
        lines = backward.where(), step.where()
        if None in lines or lines[0].code is not lines[1].code:
            return False
        key = lines[0].code, lines[0].line, lines[1].line
        if key not in self.written:
            tree = tree_of(lines[0].code.co_filename)
            self.written[key] = tree is not None and accumulates(tree, lines[0].line, lines[1].line)
        return self.written[key]

    @staticmethod
    def _untouched(account: Account, state: _State) -> bool:
        """Whether nobody has written to the gradients since the last backward: divided them by hand, it may be."""
        if max(account.number("unscale"), account.number("clip")) > account.number("backward"):
            return True
        return _first(account) == state.mark


def accumulates(tree: ast.AST, backward: int, step: int) -> bool:
    """Whether a step stands under a test of a remainder which the backward does not stand under, or the backward in a
    loop over micro-batches that the step comes after."""
    for node in ast.walk(tree):
        inside = [row for row in (backward, step) if node.lineno <= row <= node.end_lineno] if hasattr(node, "lineno") else []
        if inside == [step] and isinstance(node, ast.If):
            if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) for part in ast.walk(node.test)):
                return True
        elif inside == [backward] and isinstance(node, ast.For):
            if re.search(r"accum|micro|grad_acc", ast.unparse(node.iter) + ast.unparse(node.target), re.I):
                return True
    return False


def _first(account: Account) -> tuple[int, int] | None:
    """The first gradient that an optimizer has, and its version."""
    for parameter in account.params:
        if parameter.grad is not None:
            return id(parameter.grad), parameter.grad._version
    return None


def size_matters(account: Account) -> bool:
    """Whether larger gradients make another step: Adam and its like divide that out, unless they are clipped before."""
    return type(account.optimizer).__name__ in _PLAIN or account.number("clip") > account.number("backward") > 0


def divisor_of(what: Any) -> tuple[float, Any]:
    """By which number of the CPU's a tensor, or what a node of the graph computes, was divided at last, a scaler's scaling
    aside, and the node before that; 0 where it was by none."""
    node = what.grad_fn if isinstance(what, torch.Tensor) else what
    if node is not None and node.name().startswith("Mul") and isinstance(what, torch.Tensor):
        node = node.next_functions[0][0]
    if node is None or not node.name().startswith("DivBackward"):
        return 0.0, None
    try:
        other = node._saved_other
    except RuntimeError:  # it is freed already
        return 0.0, None
    if not isinstance(other, torch.Tensor) or other.numel() != 1 or other.device.type != "cpu":
        return 0.0, None
    return float(other.detach()), node.next_functions[0][0]


def _is_mean(event: Event) -> bool:
    """Whether what goes back is a loss function's own mean, and nothing was done to it but a scaler's scaling, or an Accelerator's
    division by one."""
    node = getattr(event.subject, "grad_fn", None)
    if event.scale is not None and node is not None and node.name().startswith("Mul"):
        node = node.next_functions[0][0]
    if node is not None and node.name().startswith("DivBackward") and accelerator_divides_by() == 1:
        node = node.next_functions[0][0]
    return getattr(node, "_saved_reduction", None) == MEAN


CHECKS = (Accumulation,)
