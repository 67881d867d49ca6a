"""For Accelerate: `with torchsan.accelerate.watch(accelerator) as san:` after `accelerator.prepare(...)`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from torchsan import watcher
from torchsan.integrations.common import missing

try:
    from accelerate import Accelerator
except ImportError as error:
    raise missing("accelerate", "accelerate") from error


def watch(accelerator: Accelerator, **options: Any) -> watcher.Watch:
    """A watch over the models and optimizers that `accelerator` has prepared; what it prepares later is found when used.

    Takes the options of `torchsan.watch`. With `step = san.step(step)` a step can be replayed, loss included, wherever
    the loss is computed.
    """
    san = watcher.watch(*accelerator._models, *accelerator._optimizers, **options)
    san.silence = partial(_kept, accelerator)
    return san


@contextmanager
def _kept(accelerator: Accelerator) -> Iterator[None]:
    """`accelerator.accumulate` counts: a step that is run again does not."""
    step, syncs = accelerator.step, accelerator.gradient_state.sync_gradients
    try:
        yield
    finally:
        accelerator.step = step
        accelerator.gradient_state._set_sync_gradients(syncs)
