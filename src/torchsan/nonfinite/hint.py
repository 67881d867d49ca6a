"""How a step can be given to the watch as a function, so that it can be run again whole: by hand, or by the callback of the
framework that calls it."""

from __future__ import annotations

import sys
from types import FrameType

_CALLBACKS = {
    "lightning": "Trainer(callbacks=[torchsan.lightning.Callback()])",
    "pytorch_lightning": "Trainer(callbacks=[torchsan.lightning.Callback()])",
    "transformers": "Trainer(..., callbacks=[torchsan.transformers.Callback()])",
    "ignite": "torchsan.ignite.attach(trainer, model, optimizer)",
}


def hint() -> str:
    """What to write, by the frames that are running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package in _CALLBACKS:
            return f"with `{_CALLBACKS[package]}` the step can be run again whole"
        frame = frame.f_back
    return "as `step = san.step(step)`, a function that makes one step can be run again whole"
