"""What the integrations with frameworks have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torchlint.findings import Finding
from torchsan.watcher import Watch, watch


def missing(module: str, package: str) -> ImportError:
    """What to raise where an integration's framework is not installed."""
    return ImportError(f"torchsan.{module} needs {package}, which cannot be imported: pip install {package}")


def nothing(*args: Any, **kwargs: Any) -> None:
    """What stands in the place of a framework's method while a step is run again."""


@contextmanager
def instead(owner: Any, **methods: Any) -> Iterator[None]:
    """`owner` has these methods, in its own dictionary; afterwards what it had there before."""
    own = owner.__dict__
    before = {name: own[name] for name in methods if name in own}
    own.update(methods)
    try:
        yield
    finally:
        for name in methods:
            own.pop(name, None)
        own.update(before)


class Watching:
    """Half of a callback: one watch over all trainings that the callback takes part in.

    The watch is made with the first of them: until then the callback can be pickled and copied.
    """

    san: Watch | None = None

    def __init__(self, **options: Any):
        """`options` are those of `torchsan.watch`."""
        super().__init__()
        self.options = options

    @property
    def findings(self) -> list[Finding]:
        """What was found so far."""
        return [] if self.san is None else self.san.findings

    def report(self) -> str:
        """All findings as text."""
        return "torchsan: nothing was watched" if self.san is None else self.san.report()

    def start(self, *things: Any) -> Watch:
        """Watch these models and optimizers from now on."""
        if self.san is None:
            self.san = watch(**self.options)
        self.san.stop()  # a training that ended unseen
        self.san.add(*things)
        return self.san.start()

    def stop(self, error: BaseException | None = None) -> None:
        """Watch no longer; what `error` was about is added to it. Does nothing where nothing is watched."""
        if self.san is not None:
            self.san.stop(error)
