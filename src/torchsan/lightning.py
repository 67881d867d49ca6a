"""For Lightning: `Trainer(callbacks=[torchsan.lightning.Callback()])`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torchsan.integrations import Watching, missing
from torchsan.steps import Step, local

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
    own, loggers = pl_module.__dict__, trainer.loggers
    instead = {name: _nothing for name in ("log", "log_dict", "print")}
    instead["manual_backward"] = lambda loss, *args, **kwargs: local.rehearsal.backward(loss)
    before = {name: own[name] for name in instead if name in own}
    own.update(instead)
    trainer.loggers = [DummyLogger() for _ in loggers]
    try:
        yield
    finally:
        trainer.loggers = loggers
        for name in instead:
            own.pop(name, None)
        own.update(before)


def _nothing(*args: Any, **kwargs: Any) -> None: ...
