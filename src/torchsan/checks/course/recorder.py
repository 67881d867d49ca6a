"""Keeps the course of a run in `watch.series`: losses, learning rates, gradient norms and updates by layer.

On a small step even a look costs: at the default level only the first steps of an optimizer and then one in so many are
measured, and the losses of a device; at the thorough level every one. Of a model of very many parameters the first looks are
further apart, and only one in four goes to all layers; the others to those that the series show. Finds nothing by itself; checks that judge the
course are told of each look (`hear`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.nn.parameter import is_lazy

from torchsan.check import Check
from torchsan.own import re, time, torch
from torchsan.program.lines import line_of
from torchsan.program.where import Where
from torchsan.report.deliver import SanError
from torchsan.stream.events import Event, rest
from torchsan.stream.ledger import Account
from torchsan.stream.step_measures import Layer, Look, Measurement, layers_of

FIRST, EVERY = 8, 16  # steps of an optimizer that are measured: the first ones, then one in so many
_LAYERS = 256  # of which series are kept
_MANY, _WHOLE = 2048, 4  # parameters (not their values), and looks that go to all their layers: one in so many
_GROUPS = 4
# What a line calls the loss and the optimizer. The frames are not asked: that would keep what they hold alive.
_LOSS = re.compile(r"\bscale\(\s*([\w.]+)|([\w.]+)\.backward\(|\bbackward\(\s*([\w.]+)")
_OPTIMIZER = re.compile(r"caler\.step\(\s*([\w.]+)|^\s*([\w.]+)\.step\(")


class _Measured:
    """What is known of one optimizer between looks."""

    def __init__(self, name: str):
        self.name = name
        self.next = 0  # the step to look at next
        self.looks = 0
        self.key: list[int] = []  # of the parameters that `layers` were made of
        self.made = -1  # the account's list that they were in; not looked at again, where none was lazy
        self.layers: list[Layer] = []
        self.kept: list[int] = []  # layers of which series are kept
        self.open: Measurement | None = None


class Recorder(Check):
    """Keeps the course of the run."""

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.measured: dict[int, _Measured] = self.ledger.while_alive({})
        self.optimizers, self.taken = 0, set[str]()  # how many there were, and their names
        self.names: dict[Where, str] = {}  # of losses, by the line of their backward
        self.hearers: list[tuple[Check, Callable[[Look], None]]] = []

    def start(self) -> None:
        self.began = time.monotonic()

    def finish(self) -> None:
        self.watch.series.seconds = time.monotonic() - self.began

    def hear(self, check: Check, told: Callable[[Look], None]) -> None:
        """Tell `check` of each look."""
        self.hearers.append((check, told))

    # Losses.

    def before_scaler_scale(self, event: Event) -> None:
        if isinstance(event.loss, torch.Tensor):
            self._loss(event, event.loss)

    def before_backward(self, event: Event) -> None:
        if event.scale is None:  # of a scaled loss the true value is known already
            self._loss(event, event.subject)

    def _loss(self, event: Event, loss: Any) -> None:
        if type(loss) is not torch.Tensor or loss.numel() != 1 or loss.is_meta:
            return
        step = self.ledger.step
        if not (loss.is_cpu or self.thorough or step < FIRST or step % EVERY == 0):
            return
        place = event.where()
        name = self.names.get(place) if place is not None else "loss"
        if name is None:
            name = self.names[place] = self._new_name(_called(place, _LOSS) or "loss", place)
        self.watch.late.ask(self, loss.detach(), lambda value: self.watch.series.record(f"loss/{name}", step, value))

    def _new_name(self, name: str, place: Where) -> str:
        return f"{name} (line {place.line})" if name in self.names.values() else name

    # Steps.

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self.measured.get(id(account))
        if state is None:
            state = self.measured[id(account)] = _Measured(self._name(event.where()))
        state.open = None
        if account.steps < state.next:
            rest.hear_again(state.next - account.steps)
        if event.closure or (account.steps < state.next and not self.thorough):
            return  # inside of a closure gradients come and go
        state.looks += 1
        is_large = len(account.params) > _MANY and not self.thorough
        first = max(4, 3 * account.steps) if is_large else 1
        state.next = account.steps + (first if state.looks < FIRST and first < EVERY else gap(account.steps))
        rest.hear_again(state.next - account.steps)
        self._know_layers(account, state)
        chosen = state.kept if is_large and state.looks % _WHOLE else range(len(state.layers))
        scale = getattr(event.subject, "grad_scale", None)  # a fused optimizer unscales inside
        state.open = self._safely(
            state,
            lambda: Measurement(account.params, state.layers, chosen, scale if isinstance(scale, torch.Tensor) else None),
        )

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        state = self.measured.get(id(account))
        if state is None or state.open is None:
            return
        measurement, state.open = state.open, None
        values = self._safely(state, lambda: measurement.finish(account.params))
        if values is None:
            return
        step = account.steps - 1
        backward = account.last.get("backward")
        rates = self._rates(event.subject, account, state, step)
        layers, at, before = state.layers, event.where(), backward and backward.where()

        def answer(values: Any) -> None:
            values = values if isinstance(values, list) else [values]
            look = Look(
                account, state.name, step, layers, *measurement.by_layer(values), rates, at, before, measurement.norm(values)
            )
            self._keep(look, state)

        self.watch.late.ask(self, values, answer)

    def _safely(self, state: _Measured, call: Callable[[], Any]) -> Any:
        try:
            with torch.no_grad():
                return call()
        except (RuntimeError, NotImplementedError):  # such as a device that cannot do this: then it is not tried again
            state.next = 1 << 62
            return None

    def _name(self, place: Where | None) -> str:
        name = place and _called(place, _OPTIMIZER) or "optimizer"
        self.optimizers += 1
        if name in self.taken:
            return f"{name} {self.optimizers}"
        self.taken.add(name)
        return name

    def _know_layers(self, account: Account, state: _Measured) -> None:
        if state.made == account.made:
            return
        ids = [id(p) if not is_lazy(p) else 0 for p in account.params]
        if ids != state.key:
            state.key, state.made = ids, -1 if 0 in ids else account.made
            state.layers = layers_of(account.params, self.watch.modules())
            every = -(-len(state.layers) // _LAYERS) or 1
            state.kept = list(range(0, len(state.layers), every))

    def _rates(self, optimizer: Any, account: Account, state: _Measured, step: int) -> list[float | None]:
        """The learning rate of each layer. Those of the first groups are kept, where they are not all the same."""
        rates: list[float | None] = []
        for group in optimizer.param_groups:
            rate = group.get("lr")
            rates.append(float(rate) if isinstance(rate, (int, float)) else None)
        for at, rate in enumerate(rates[:_GROUPS]):
            if rate is not None and (at == 0 or rate != rates[0]):
                name = state.name if at == 0 else f"{state.name}[{at}]"
                self.watch.series.record(f"learning rate/{name}", step, rate)
        by_parameter = [rate for rate, group in zip(rates, optimizer.param_groups) for _ in group["params"]]
        first = [layer.parameters[0] for layer in state.layers]
        return [by_parameter[index] if index < len(by_parameter) else None for index in first]

    def _keep(self, look: Look, state: _Measured) -> None:
        record = self.watch.series.record
        record(f"gradient norm/{look.optimizer}", look.step, look.norm)
        for index in state.kept if len(state.kept) <= len(look.layers) else ():
            name = look.layers[index].name
            if look.gradients[index] is not None:
                record(f"gradients/{name}", look.step, look.gradients[index])
            if look.ratios[index] is not None:
                record(f"updates/{name}", look.step, look.ratios[index])
        for check, told in self.hearers:
            if type(check).__name__ not in self.watch.off:
                try:
                    told(look)
                except SanError:
                    raise
                except Exception as error:
                    self.watch.switch_off(check, error)


def gap(step: int) -> int:
    """Steps until the next look, after the first ones; of a tiny model that rests, as many as there were so far."""
    return max(EVERY, step) if rest.looks_are_dear else EVERY


def _called(place: Where, pattern: re.Pattern) -> str | None:
    line = line_of(place.code.co_filename, place.line)
    names = [name for found in pattern.findall(line) for name in found if name]
    return names[0].removeprefix("self.") if names else None


CHECKS = (Recorder,)
