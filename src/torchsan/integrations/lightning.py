"""For Lightning: `Trainer(callbacks=[torchsan.lightning.Callback()])`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torchsan.integrations.common import Watching, instead, missing, nothing
from torchsan.nonfinite.step_function import Step, local

try:
    from lightning import pytorch as framework
    from lightning.pytorch.loggers.logger import DummyLogger
except ImportError:
    try:
        import pytorch_lightning as framework
        from pytorch_lightning.loggers.logger import DummyLogger
    except ImportError as error:
        raise missing("lightning", "lightning") from error


class Callback(Watching, framework.Callback):
    """Watches `trainer.fit`, from before the optimizers are built to its end, whatever ends it.

    Takes the options of `torchsan.watch`. `findings`, `report()` and, once a fit began, `san` tell what was found.
    A step is replayed by calling `training_step` again with nothing logged.
    """

    _step: Step | None = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage == "fit":
            self.start(pl_module)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self.san.add(*trainer.optimizers)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._over()
        takes = len(inspect.signature(pl_module.training_step).parameters)
        given = (batch, batch_idx) if takes > 1 else (batch,)
        self._step = Step(trainer.strategy.training_step, given, silence=partial(_silent, trainer, pl_module))
        self._step.begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._over()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._over()
        self.stop(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._over()
        if stage == "fit":
            self.stop()

    def _over(self) -> None:
        if self._step is not None:
            self._step.end()
            self._step = None


@contextmanager
def _silent(trainer: Any, pl_module: Any) -> Iterator[None]:
    """The module logs nothing, and its backward is the replay's, without a word to other callbacks."""

    def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
        return local.rehearsal.backward(loss)

    loggers = trainer.loggers
    with instead(pl_module, log=nothing, log_dict=nothing, print=nothing, manual_backward=backward):
        trainer.loggers = [DummyLogger() for _ in loggers]
        try:
            yield
        finally:
            trainer.loggers = loggers
