"""009: a Trainer that was given `compute_metrics` and evaluated without labels, or not at all.

The trainer is looked for among the callers of the first steps; its state tells in the end what it has logged.
"""

from __future__ import annotations

import sys
from typing import Any

from torchsan.check import Check
from torchsan.own import weakref
from torchsan.program.variables import variables
from torchsan.program.where import Where
from torchsan.stream.events import Event

_LOOKS = 2
_ALWAYS = frozenset(("loss", "runtime", "samples_per_second", "steps_per_second", "model_preparation_time", "num_tokens", "entropy", "mean_token_accuracy"))
_WITHOUT = (
    "`{metrics}` is never called: the Trainer found no labels in the batches of its evaluations",
    "name the columns that are labels: `TrainingArguments(..., label_names=[...])`, and let the model's forward take them",
)


class _Seen:
    """A trainer: what it logs, where it trains, what its metrics are called."""

    def __init__(self, trainer: Any, where: Where | None):
        self.trainer = weakref.ref(trainer)
        self.log, self.where = trainer.state.log_history, where
        self.metrics = getattr(trainer.compute_metrics, "__name__", "compute_metrics")
        several = trainer.eval_dataset if isinstance(trainer.eval_dataset, dict) else {}  # nothing of the user's is gone through
        self.prefixes = ("eval_", *(f"eval_{name}_" for name in several))


class MetricsNeverComputed(Check):
    """`compute_metrics` is never called."""

    numbers = (9,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.left = _LOOKS
        self.seen: dict[int, _Seen] = {}
        self.evaluated = False

    def before_forward(self, event: Event) -> None:
        if not event.depth and not event.grad and not event.training:
            self.evaluated = True

    def on_optimizer_step(self, event: Event) -> None:
        if not self.left:
            return
        self.left -= 1
        kind = getattr(sys.modules.get("transformers.trainer"), "Trainer", None)
        frame: Any = sys._getframe(1) if kind is not None else None
        while frame is not None:
            if frame.f_code.co_varnames[:1] == ("self",):
                for one in variables(frame):
                    if isinstance(one, kind) and getattr(one, "compute_metrics", None) is not None and id(one) not in self.seen:
                        self.seen[id(one)] = _Seen(one, event.where())
            frame = frame.f_back

    def finish(self) -> None:
        for one in self.seen.values():
            trainer = one.trainer()
            log = one.log if trainer is None else trainer.state.log_history
            given = [{_short(key, one.prefixes) for key in entry if key.startswith("eval_")} for entry in log]
            evaluations = [keys for keys in given if keys]
            nobody_will = trainer is None or self.watch.ends_with_program
            if not evaluations and not self.evaluated and nobody_will and log:
                self.found(9, one.where, metrics=one.metrics, fact="the run ended without an evaluation")
            elif evaluations and all(keys <= _ALWAYS for keys in evaluations):
                self.found(9, one.where, words=_WITHOUT, metrics=one.metrics, fact=f"{len(evaluations)} evaluations without a metric")


def _short(key: str, prefixes: tuple[str, ...]) -> str:
    return key.removeprefix(max((prefix for prefix in prefixes if key.startswith(prefix)), key=len))


CHECKS = (MetricsNeverComputed,)
