"""Passes the series of a watch on to TensorBoard or Weights & Biases, through their own packages.

    with torchsan.watch(model) as san, torchsan.writers.TensorBoard(san, "runs/first"):
        train(model)

Each is imported when it is used. A writer that fails says so once, and the run goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from torchlint.findings import Finding
from torchsan.report.deliver import say, text


class _Writer:
    """Hears every value that is recorded while it is open; writes the findings when it closes."""

    def __init__(self, san: Any, kinds: Iterable[str] | None):
        self._san = san
        self._kinds = None if kinds is None else frozenset(kinds)
        self._broken = False
        san.series.listeners.append(self._hear)

    def close(self) -> None:
        """Write the findings, and write nothing from then on. Closing twice does nothing."""
        listeners = self._san.series.listeners
        if self._hear in listeners:
            listeners.remove(self._hear)
            for finding in self._san.findings:
                self._safely(lambda finding=finding: self._found(finding))
            self._safely(self._end)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _hear(self, name: str, step: int, value: float) -> None:
        if self._kinds is None or name.partition("/")[0] in self._kinds:
            self._safely(lambda: self._value(name, step, value))

    def _safely(self, call: Callable[[], Any]) -> None:
        if not self._broken:
            try:
                call()
            except Exception as error:
                self._broken = True
                say(f"{type(self).__name__} takes nothing more: {type(error).__name__}: {error}")

    def _value(self, name: str, step: int, value: float) -> None:
        raise NotImplementedError

    def _found(self, finding: Finding) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """What is left to do when it closes."""


class TensorBoard(_Writer):
    """Writes event files for TensorBoard: each series as a scalar `torchsan/<name>`, each finding as text.

    Args:
        san: the watch.
        folder: where to write; or a `SummaryWriter` that is there already, which stays open.
        kinds: what stands before the slash in the names of series to be written ("loss", "gradients"); all by default.

    Raises:
        ImportError: tensorboard is not installed.
    """

    def __init__(self, san: Any, folder: Any = None, kinds: Iterable[str] | None = None):
        from torch.utils.tensorboard import SummaryWriter

        self._own = not isinstance(folder, SummaryWriter)
        self._writer = SummaryWriter(folder) if self._own else folder
        super().__init__(san, kinds)

    def _value(self, name: str, step: int, value: float) -> None:
        self._writer.add_scalar(f"torchsan/{name.replace(' ', '_')}", value, step)

    def _found(self, finding: Finding) -> None:
        at = finding.location
        self._writer.add_text(
            f"torchsan/findings/{finding.code}", f"{text(finding)}\n\n`{at.filename}:{at.row}`", finding.step or 0
        )

    def _end(self) -> None:
        if self._own:
            self._writer.close()
        else:
            self._writer.flush()


class WeightsAndBiases(_Writer):
    """Logs to a run of Weights & Biases: series as `torchsan/<name>` over `torchsan/step`, findings in the summary.

    Args:
        san: the watch.
        run: what `wandb.init()` gave; the current run by default. It is not finished here.
        kinds: what stands before the slash in the names of series to be logged ("loss", "gradients"); all by default.

    Raises:
        ImportError: wandb is not installed.
        RuntimeError: there is no run.
    """

    def __init__(self, san: Any, run: Any = None, kinds: Iterable[str] | None = None):
        if run is None:
            import wandb

            run = wandb.run
        if run is None:
            raise RuntimeError("there is no run of Weights & Biases: call wandb.init() first, or pass run=")
        self._run = run
        self._step = -1
        self._row: dict[str, float] = {}
        run.define_metric("torchsan/step")
        run.define_metric("torchsan/*", step_metric="torchsan/step")
        super().__init__(san, kinds)

    def _value(self, name: str, step: int, value: float) -> None:
        # One call for a step: wandb counts its own steps by calls, and each costs.
        if step != self._step:
            self._flush()
            self._step = step
        self._row[f"torchsan/{name}"] = value

    def _flush(self) -> None:
        if self._row:
            row, self._row = self._row, {}
            self._run.log({"torchsan/step": self._step, **row})

    def _found(self, finding: Finding) -> None:
        at = finding.location
        self._run.summary[f"torchsan/findings/{finding.code} {at.filename}:{at.row}"] = finding.message

    def _end(self) -> None:
        self._flush()
