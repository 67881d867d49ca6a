"""For transformers: `Trainer(..., callbacks=[torchsan.transformers.Callback()])`."""

from __future__ import annotations

import functools
import sys
from functools import partial
from types import FrameType
from typing import Any

from torchsan.integrations.common import Watching, instead, missing, nothing

try:
    from transformers import Trainer, TrainerCallback
except ImportError as error:
    raise missing("transformers", "transformers") from error


class Callback(Watching, TrainerCallback):
    """Watches `trainer.train()`, whatever ends it.

    Takes the options of `torchsan.watch`. `findings`, `report()` and, once a training began, `san` tell what was found.
    A step is replayed by calling the trainer's `training_step` again with nothing logged.

    Callbacks are not told of errors: the trainer's own `train` and `training_step` are replaced by ones that tell. A
    callback that was given to `add_callback` sees only errors of the steps.
    """

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        trainer = self._trainer(sys._getframe(1))
        if trainer is not None:
            trainer.train = self._guarded(trainer.train)

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **kwargs: Any
    ) -> None:
        san = self.start(*(thing for thing in (model, optimizer) if thing is not None))
        trainer = self._trainer(sys._getframe(1))
        if trainer is not None:
            silent = partial(instead, trainer, log=nothing)
            trainer.training_step = self._guarded(san.step(trainer.training_step, silent))
            self._undo = partial(trainer.__dict__.pop, "training_step", None)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.stop()

    def stop(self, error: BaseException | None = None) -> None:
        """Watch no longer."""
        self._undo()
        super().stop(error)

    def _undo(self) -> None: ...

    def _guarded(self, function: Any) -> Any:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                self.stop(error)
                raise

        return guarded

    def _trainer(self, frame: FrameType | None) -> Trainer | None:
        """The trainer that calls this callback: nobody hands it over."""
        while frame is not None:
            owner = frame.f_locals.get("self")
            if isinstance(owner, Trainer) and any(one is self for one in owner.callback_handler.callbacks):
                return owner
            frame = frame.f_back
        return None
