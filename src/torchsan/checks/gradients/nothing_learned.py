"""140, 319: every gradient is zero from the first step on, and which operation of the graph made them so.

Recorder's looks tell of the first steps; most programs are done with here after one of them. Where nothing but zeros
came, hooks on the graph of one backward see where a gradient goes in and only zeros come out.
"""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.checks.course.recorder import Recorder
from torchsan.checks.modules.softmax_calls import Call, SoftmaxCalls
from torchsan.own import torch
from torchsan.program.autograd_graph import node_name, nodes
from torchsan.program.layers import tensors
from torchsan.program.naming import name_of
from torchsan.program.where import Where
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account
from torchsan.stream.modes import aside
from torchsan.stream.step_measures import Look

_LOOKS = 5  # steps in a row, from the first one on, before anything is said
_PATIENT = 64  # steps, where it may be the data: rewards that do not come yet, margins that are kept from the beginning
_AT = 3  # the look after which the graph of a backward is looked into
_NODES = 1 << 12  # of a graph
_TINY = 1e-6  # norm of what rounding leaves of gradients that cancel out, and how far equal losses are apart
_BETTER = frozenset((319, 320, 516, 713))  # numbers that say why
_ONE_CLASS = (
    "a softmax over a dimension of size 1 is 1 whatever goes in: `{loss}` never changes, and every gradient is zero",
    "give the layer as many outputs as there are classes, or take `binary_cross_entropy_with_logits` for one output",
)
_FLAT = frozenset("Relu Threshold Clamp ClampMin ClampMax Maximum Minimum Hardtanh Hardsigmoid Sigmoid Tanh Elu".split())
_STEPS = frozenset("Round Floor Ceil Trunc Sign Sgn Gt Ge Lt Le Eq Ne Argmax Heaviside".split())
_MASKS = frozenset("MaskedFill Where MaskedSelect Mul Div".split())


class _State:
    """What is known of an optimizer's first steps."""

    def __init__(self) -> None:
        self.zeros = 0
        self.fair = True  # the gradients of this step were made by a backward, and not cleared since
        self.losses: list[tuple[float, float]] = []  # of each backward: the loss, and the sum of what the model was given
        self.reason = ""
        self.one_class = self.certain = False
        self.done = False


class NothingLearned(Check):
    """Every gradient is zero, step after step."""

    numbers = (140, 319)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.states: dict[int, _State] = self.ledger.while_alive({})
        self.given: torch.Tensor | None = None  # the sum of the model's inputs
        self.dug: _Dig | None = None
        self.of_one: Where | None = None  # the line of a softmax over a dimension of size 1
        self.undecided = 1  # accounts that may still be found; one is waited for from the beginning

    def start(self) -> None:
        for check in self.watch.checks:
            if isinstance(check, Recorder):
                check.hear(self, self._look)
            elif isinstance(check, SoftmaxCalls):
                check.hear(self, self._softmaxes)

    def _softmaxes(self, _: Event, calls: list[Call]) -> None:
        self.of_one = next((call.at for call in calls if call.shape[call.dim] == 1), self.of_one)

    def _state(self, account: Account) -> _State:
        state = self.states.get(id(account))
        if state is None:
            state = self.states[id(account)] = _State()
            state.done = account.steps > 0 or account.had_state
            self.undecided = self._count()
        return state

    def _count(self) -> int:
        return sum(not state.done for state in self.states.values())

    def before_forward(self, event: Event) -> None:
        if self.undecided and not event.depth and event.grad:
            first = next((t for t in tensors((event.args, event.kwargs)) if _has_values(t)), None)
            with torch.no_grad():
                self.given = None if first is None else first.detach().sum(dtype=torch.float32)

    def before_backward(self, event: Event) -> None:
        self.dug = None
        if any(not s.done and s.zeros == _AT and not s.reason for s in self.states.values()):
            self.dug = _Dig(event.roots)

    def on_backward(self, event: Event) -> None:
        if not self.undecided:
            return
        states = [state for account in event.reached if not (state := self._state(account)).done]
        if self.dug is not None:
            self.dug.end()
            for state in states:
                state.reason, state.one_class, state.certain = self.dug.reason()
            self.dug = None
        loss = event.subject
        if states and isinstance(loss, torch.Tensor) and loss.numel() == 1 and _has_values(loss) and self.given is not None:
            if loss.device == self.given.device:
                with torch.no_grad():
                    pair = torch.stack([loss.detach().float().reshape(()), self.given])
                self.watch.late.ask(self, pair, lambda values: [state.losses.append(tuple(values)) for state in states])
        self.given = None

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self._state(account)
        if not state.done:
            state.fair = account.backwards > 0 and account.number("zero_grad") < account.number("backward")

    def _look(self, look: Look) -> None:
        state = self._state(look.account)
        if state.done:
            return
        known = [norm for norm in look.gradients if norm is not None]
        nothing = bool(known) and (not look.norm or (look.norm < _TINY and _same(state.losses)))
        if not (nothing and state.fair):
            state.done = True
        else:
            state.zeros += 1
            if state.zeros >= _LOOKS and (state.certain or look.norm or look.step >= _PATIENT):
                state.done = True
                self._say(look, state, bool(look.norm))
        self.undecided = self._count()

    def _say(self, look: Look, state: _State, rounded: bool) -> None:
        if any(finding.number in _BETTER for finding in self.watch.findings):
            return
        backward = look.account.last.get("backward")
        loss = (name_of(backward.subject) if backward is not None else None) or "loss"
        related = ((look.at, "the step that has nothing to go by"),)
        if state.one_class:
            if self.of_one is not None:
                related = ((self.of_one, "the softmax over a single value"), *related)
            self.found(319, look.backward or look.at, words=_ONE_CLASS, loss=loss, fact=state.reason, related=related)
            return
        values = {round(value, 6) for value, _ in state.losses}
        fact = f"in each of the first {state.zeros} steps" if look.step < _LOOKS else f"since the first of {look.step + 1} steps"
        if len(values) == 1 and _differ(state.losses):
            fact += f"; the loss is {values.pop():g} whatever the batch"
        elif rounded:
            fact += ", but for rounding"
        self.found(
            140, look.backward or look.at, loss=loss, optimizer=look.optimizer, related=related,
            fact=f"{fact}; {state.reason}" if state.reason else fact,
        )


def _has_values(value: torch.Tensor) -> bool:
    return type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided and not value.is_meta


def _differ(losses: list[tuple[float, float]]) -> bool:
    return len({given for _, given in losses}) > 2


def _same(losses: list[tuple[float, float]]) -> bool:
    """Whether different batches gave one and the same loss. Few batches tell nothing yet."""
    values = [value for value, _ in losses]
    if len(values) < 2:
        return bool(values)
    return max(values) - min(values) <= _TINY * abs(max(values, key=abs)) and (len(values) < _LOOKS or _differ(losses))


class _Dig:
    """Sees, in one backward, at which operation gradients become zero."""

    def __init__(self, roots: tuple) -> None:
        self.met: list[tuple[str, str, bool]] = []
        self._handles = []
        starts = [root.grad_fn for root in roots if isinstance(root, torch.Tensor)]
        for node in nodes(starts, _NODES):
            if getattr(node, "variable", None) is None and hasattr(node, "register_hook"):
                self._handles.append(node.register_hook(self._hook(node_name(node), _one_wide(node), _times_zero(node))))

    def _hook(self, name: str, wide: str, times_zero: bool) -> Any:
        def hook(inputs: tuple, outputs: tuple) -> None:
            with aside():
                if any(map(_any, outputs)) and not any(map(_any, inputs)):
                    self.met.append((name, wide, times_zero))

        return hook

    def end(self) -> None:
        while self._handles:
            self._handles.pop().remove()

    def reason(self) -> tuple[str, bool, bool]:
        """Why the gradients are zero, in words; whether it is a softmax over one value; whether it is so for any data."""
        if not self.met:
            return "", False, False
        name, wide, times_zero = self.met[0]
        if times_zero:
            return "it is multiplied by the number 0", False, False  # a reward, it may be
        if wide:
            return wide, True, True
        call = name.rstrip("0123456789").lower()
        if name in _STEPS:
            return f"`{call}` lets no gradient through", False, True
        if name in _FLAT:
            return f"all that goes into `{call}` lies where it is flat", False, False
        if name in _MASKS:
            return f"`{call}` takes all of it away", False, False
        return f"a gradient goes into the backward of `{call}`, and only zeros come out", False, False


def _any(gradient: torch.Tensor | None) -> bool:
    return gradient is not None and bool(gradient.any())


def _times_zero(node: Any) -> bool:
    """Whether this multiplies by a number, and that is 0."""
    if node_name(node) != "Mul":
        return False
    for factor in (getattr(node, "_saved_other", None), getattr(node, "_saved_self", None)):
        if isinstance(factor, torch.Tensor) and not factor.dim() and factor.is_cpu and not factor.requires_grad:
            return factor.item() == 0
    return False


def _one_wide(node: Any) -> str:
    """In words, that this is a softmax over a dimension of size 1; empty for anything else."""
    if node_name(node) not in ("Softmax", "LogSoftmax", "SafeSoftmax"):
        return ""
    shape = node._input_metadata[0].shape
    dim = node._saved_dim
    dim = dim - (1 << 64) if dim >= 1 << 63 else dim  # autograd keeps -1 as an unsigned number
    called = "log_softmax" if node_name(node) == "LogSoftmax" else "softmax"
    return f"{called} over dimension {dim} of {tuple(shape)}" if shape and shape[dim] == 1 else ""


CHECKS = (NothingLearned,)
