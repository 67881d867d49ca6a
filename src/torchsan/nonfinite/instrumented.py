"""Looks at every operation of the steps that come next: where a step cannot be run again, the next bad one is caught
in the act.

The same look as in a replay, at the run itself: a dispatch mode and global module hooks, put in place between two steps
of a thread and taken away as soon as it is known, or after some steps. No number changes; a step takes several times as
long. What is compiled would run uncompiled under a mode, so such runs are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn
from torch.utils._python_dispatch import _get_current_dispatch_mode

from torchsan.nonfinite.origin import External, Record, Tracer
from torchsan.nonfinite.replay import in_modules
from torchsan.own import torch
from torchsan.program.storage import store
from torchsan.stream import events, modes

STEPS = 16  # that are looked at


class Instrumented(Tracer):
    """The look at one thread's next steps."""

    def __init__(self, roots: Iterable[nn.Module]):
        names, paths = {}, {}
        for root in roots:
            for path, parameter in root.named_parameters():
                names.setdefault(store(parameter), (path, "parameter"))
            for path, buffer in root.named_buffers():
                names.setdefault(store(buffer), (path, "buffer"))
            for path, module in root.named_modules():
                paths.setdefault(id(module), f"{type(root).__name__}{'.' if path else ''}{path}")
        super().__init__(names, None, paths)
        self.left = STEPS
        self.asleep = False
        self._hooks = in_modules(self, ())
        self._anomaly = torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

    def start(self) -> None:
        """Look from now on, on this thread."""
        torch.set_anomaly_enabled(True, False)  # nodes keep their lines
        self._hooks.__enter__()
        self.__enter__()
        modes.staying.append(self)

    def next_step(self) -> bool:
        """A step ended: whether to look at another one."""
        self.bad.clear()
        self.left -= 1
        return self.left > 0

    def stop(self) -> bool:
        """Look no longer. False where the program has put a mode of its own on top of ours: until that is gone (and
        `stop` called again), ours stays where it is and does nothing."""
        if not self.asleep:
            self.asleep = True
            self.bad.clear()
            self._hooks.__exit__(None, None, None)
            if torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled():
                torch.set_anomaly_enabled(*self._anomaly)
        if _get_current_dispatch_mode() is not self:
            return False
        self.__exit__(None, None, None)
        modes.staying.remove(self)
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        before = None
        if not self.asleep and not events.is_quiet():
            try:
                before = self.before(func, args, kwargs)
            except Exception:  # a tensor of a kind that cannot be looked at
                before = None
        result = func(*args, **kwargs)
        if before is not None:
            try:
                self.after(func, args, kwargs, before, result)
            except Exception:
                pass
        return result

    def origin(self, values: Iterable[torch.Tensor]) -> tuple[Record, External | None] | None:
        """The origin of what is not finite in `values`, which this step has made."""
        return self.origin_of(values)
