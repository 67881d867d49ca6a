"""For Ignite: `san = torchsan.ignite.attach(trainer, model, optimizer)`."""

from __future__ import annotations

from functools import partial
from typing import Any

from torchsan.integrations.common import instead, missing, nothing
from torchsan.watcher import Watch, watch

try:
    from ignite.engine import Engine
except ImportError as error:
    raise missing("ignite", "pytorch-ignite") from error


def attach(engine: Engine, *things: Any, **options: Any) -> Watch:
    """Watch every `engine.run(...)`, whatever ends it: gives the watch, which has the findings.

    An event handler for errors would keep the engine from raising them, so `run` and the process function are wrapped.
    A step is replayed by calling the process function again, without telling the engine's handlers.

    Args:
        engine: the one that trains.
        things: models and optimizers, where they were built before.
        options: those of `torchsan.watch`.
    """
    san = watch(*things, **options)
    engine._process_function = san.step(engine._process_function, partial(instead, engine, fire_event=nothing))
    engine.run = san(engine.run)
    return san
