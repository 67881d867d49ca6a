"""120: gradients of a layer that vanish, or gradients that explode; 129: steps that are as large as the weights, or
next to nothing. Judged by what `recorder.py` measures now and then, and never by one look alone.

Sources of the thresholds stand in the rule pages.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from torchsan.check import Check
from torchsan.checks.course.recorder import Recorder
from torchsan.own import math
from torchsan.report.series import Line
from torchsan.stream.step_measures import Look

_LOOKS, _STEPS = 8, 64  # how long something must go on: in so many looks, over so many steps
_ROUNDED = 2.0**-24  # float32: what is smaller, against the number that it is added to, is lost
_APART = 1e6  # of gradients of two layers
_MOVES = 1e-5  # of a layer that learns: its step against its weights
_GROWN, _LOSS_GROWN, _IN_A_ROW = 100.0, 10.0, 3
_FEW, _FEW_STEPS = 3, 24  # looks and steps for which a loss stays above the first one
_HISTORY = 64  # norms that are remembered
_FAR_STEP = 0.3  # of an update against the weights, among the first steps
_USUAL = 1e-3  # of an update against the weights
_FAR = 1e3  # times too large or too small
_WRITES = 16  # to a parameter before its first step, at most

_VANISH = (
    "the gradients of `{layer}` are too small to change its weights, while those of `{other}` are not",
    "put normalisation or residual connections between the layers, use ReLU or GELU in the place of sigmoid or tanh, "
    "or initialise for the activation (`nn.init.kaiming_normal_`)",
)
_EXPLODE = (
    "gradients and loss grow together: this run diverges",
    "lower the learning rate or warm it up, or clip: `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)` before "
    "`{optimizer}.step()`",
)
_TOO_LARGE = (
    "each `{optimizer}.step()` changes the weights of `{layer}` by more than they are",
    "lower its learning rate",
)
_TOO_SMALL = (
    "each `{optimizer}.step()` changes the weights of all layers by next to nothing",
    "raise the learning rate, or look for what makes the gradients so small",
)


class _Lasting:
    """How long something has held without a break."""

    def __init__(self) -> None:
        self.looks = 0
        self.since = 0

    def goes_on(self, holds: bool, step: int, looks: int = _LOOKS, steps: int = _STEPS) -> bool:
        """Whether it has held long enough by now."""
        if not holds:
            self.looks = 0
            return False
        if not self.looks:
            self.since = step
        self.looks += 1
        return self.looks >= looks and step - self.since >= steps


class _History:
    """What is known of one optimizer's run."""

    def __init__(self) -> None:
        self.vanishing: dict[str, _Lasting] = defaultdict(_Lasting)
        self.large: dict[str, _Lasting] = defaultdict(_Lasting)
        self.small = _Lasting()
        self.always_small = True
        self.rate: float | None = None
        self.norms: deque[float] = deque(maxlen=_HISTORY)
        self.grown = 0
        self.at_once = self.worse = 0  # first steps in a row with gradients, with a loss, far beyond the very first ones
        self.told = False
        self.above = _Lasting()  # the loss, above the very first one
        self.most: tuple[float, str] = 0.0, ""  # the largest step of the usual layer, and a layer with a larger one


class GradientHistory(Check):
    """Gradients vanish or explode, or updates are far from the usual size."""

    numbers = (120, 129)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.histories: dict[int, _History] = self.ledger.while_alive(defaultdict(_History))

    def start(self) -> None:
        for check in self.watch.checks:
            if isinstance(check, Recorder):
                check.hear(self, self._look)

    def _look(self, look: Look) -> None:
        history = self.histories[id(look.account)]
        self._vanishing(look, history)
        self._exploding(look, history)
        self._too_large(look, history)
        self._too_small(look, history)

    def _vanishing(self, look: Look, history: _History) -> None:
        steps = _steps_by_gradient(look)
        known = [index for index, step in enumerate(steps) if step is not None]
        if len(known) < 2:
            return
        means = {index: look.gradients[index] / math.sqrt(look.layers[index].size) for index in known}
        best = max(known, key=means.__getitem__)
        learns = steps[best] > _MOVES
        for index in known:
            name = look.layers[index].name
            vanishes = learns and 0 < means[index] * _APART < means[best] and steps[index] < _ROUNDED
            lasting = history.vanishing[name]
            if lasting.goes_on(vanishes, look.step):
                fact = f"since step {lasting.since}: {means[index]:.1e} against {means[best]:.1e} on average, a value"
                self.found(
                    120, look.backward or look.at, key=(id(look.account), "vanishing"), step=look.step, words=_VANISH,
                    fact=fact, layer=name, other=look.layers[best].name,
                    related=((look.at, "the step that has no effect on it"),),
                )

    def _exploding(self, look: Look, history: _History) -> None:
        norm = look.norm
        if not math.isfinite(norm):
            return
        if len(history.norms) < _LOOKS and not history.told:
            self._at_once(look, history)
        elif not history.told:
            self._never_recovers(look, history)
        if len(history.norms) < _LOOKS or norm <= _GROWN * median(history.norms):
            history.norms.append(norm)
            history.grown = 0
            return
        history.grown += 1
        if history.grown >= _IN_A_ROW:
            self._say_explosion(look, median(history.norms), self._grown_loss())

    def _at_once(self, look: Look, history: _History) -> None:
        """Among the first steps there is nothing usual yet. But steps as large as the weights and then, three times, a
        loss beyond ten times the first one are a divergence; more so where gradients are a hundred times the first."""
        known = [(ratio, layer.name) for ratio, layer in zip(look.ratios, look.layers) if ratio is not None]
        if known:
            history.most = max(history.most, (median(ratio for ratio, _ in known), max(known)[1]))
        loss = next((pair for pair in self._losses(lambda line: line.means[0]) if pair[0] * _LOSS_GROWN < pair[1]), None)
        first = history.norms[0] if history.norms else 0.0
        history.at_once = history.at_once + 1 if loss and 0 < first * _GROWN < look.norm else 0
        history.worse = history.worse + 1 if loss else 0
        if history.at_once >= _IN_A_ROW and max(known, default=(0.0, ""))[0] > _FAR_STEP:
            history.told = True
            self._say_explosion(look, first, loss)
        elif history.worse >= _IN_A_ROW and history.most[0] > 1 and loss is not None:
            self._say_large(look, history, loss)

    def _never_recovers(self, look: Look, history: _History) -> None:
        """First steps larger than the weights, and since then a loss that stays above the very first one."""
        loss = next((pair for pair in self._losses(lambda line: line.means[0]) if pair[0] < pair[1]), None)
        if history.above.goes_on(loss is not None and history.most[0] > 1, look.step, _FEW, _FEW_STEPS) and loss is not None:
            self._say_large(look, history, loss)

    def _say_large(self, look: Look, history: _History, loss: tuple[float, float]) -> None:
        history.told = True
        fact = f"{history.most[0]:.2g} times as much; the loss was {loss[0]:.3g} and is {loss[1]:.3g} after {look.step + 1} steps"
        self.found(
            129, look.at, key=(id(look.account), "large"), step=look.step, words=_TOO_LARGE, fact=fact,
            optimizer=look.optimizer, layer=history.most[1],
        )

    def _say_explosion(self, look: Look, before: float, loss: tuple[float, float] | None) -> None:
        if loss is not None:
            fact = f"gradient norm {before:.3g} before, {look.norm:.3g} now; loss {loss[0]:.3g}, {loss[1]:.3g}"
            self.found(
                120, look.backward or look.at, key=(id(look.account), "exploding"), step=look.step, words=_EXPLODE,
                fact=fact, optimizer=look.optimizer, related=((look.at, "the step that goes too far"),),
            )

    def _grown_loss(self) -> tuple[float, float] | None:
        """The usual value of a loss and its newest one, of the first that has grown with the gradients."""
        return next((pair for pair in self._losses(lambda line: median(line.means)) if pair[0] * _LOSS_GROWN < pair[1]), None)

    def _losses(self, usual: Callable[[Line], float]) -> Iterator[tuple[float, float]]:
        """By loss: a usual value and the newest one, where both are positive numbers."""
        for line in self.watch.series.of("loss").values():
            before = usual(line)
            if 0 < before and 0 < line.last < math.inf:
                yield before, line.last

    def _too_large(self, look: Look, history: _History) -> None:
        for layer, ratio in zip(look.layers, look.ratios):
            if ratio is None:
                continue
            lasting = history.large[layer.name]
            # What grows without bound is 120's to tell.
            if lasting.goes_on(_USUAL * _FAR <= ratio < math.inf and not history.grown, look.step):
                fact = f"{ratio:.2g} times as much, for {look.step - lasting.since} steps; about {_USUAL} is usual"
                self.found(
                    129, look.at, key=(id(look.account), "large"), step=look.step, words=_TOO_LARGE, fact=fact,
                    optimizer=look.optimizer, layer=layer.name,
                )

    def _too_small(self, look: Look, history: _History) -> None:
        """Only what has been so from the first step of the weights on, at one rate: a schedule may begin and end near zero,
        and who has converged need not move."""
        ratios = [ratio for ratio in look.ratios if ratio is not None]
        rate = next((rate for rate in look.rates if rate is not None), None)
        if not ratios or not history.always_small or rate is None:
            return
        if history.rate is None and _was_trained(look):
            history.always_small = False
            return
        steady = history.rate in (None, rate)
        history.rate = rate
        history.always_small = steady and max(ratios) < _USUAL / _FAR
        if history.small.goes_on(history.always_small and max(ratios) > 0, look.step):
            fact = f"{max(ratios):.1e} of their size at most, since step {history.small.since}; about {_USUAL} is usual"
            self.found(
                129, look.at, key=(id(look.account), "small"), step=look.step, words=_TOO_SMALL, fact=fact,
                optimizer=look.optimizer,
            )


def _was_trained(look: Look) -> bool:
    """Whether the weights have seen more steps than the watch has: each writes to them in place, most often once or twice,
    and so does whoever initialises or loads them."""
    first = look.account.first
    return first is not None and first._version > _WRITES + 8 * look.account.steps


def _steps_by_gradient(look: Look) -> list[float | None]:
    """By layer, the step that its gradients alone would make against the size of its weights, on average: weight decay
    is left out, momentum counts in full. Adam and its kin divide by the gradient's own size, down to their `eps`."""
    optimizer = look.account.optimizer
    groups = [] if optimizer is None else optimizer.param_groups
    by_parameter = [group for group in groups for _ in group["params"]]
    steps: list[float | None] = []
    for layer, norm, weight, rate in zip(look.layers, look.gradients, look.weights, look.rates):
        first = layer.parameters[0]
        if not norm or not weight or not rate or not layer.size or first >= len(by_parameter) or not math.isfinite(norm):
            steps.append(None)
            continue
        group = by_parameter[first]
        size = norm / math.sqrt(layer.size)
        if group.get("eps") and ("betas" in group or "alpha" in group):
            size = min(1.0, size / group["eps"])
        elif "momentum" in group:
            size /= max(1e-3, 1 - group["momentum"])
        else:
            steps.append(None)  # how this optimizer uses gradients is not known
            continue
        steps.append(rate * size / weight)
    return steps


CHECKS = (GradientHistory,)
