"""514: a forward that runs off its end and gives None."""

from __future__ import annotations

import sys

from torch import nn

from torchsan.check import Check
from torchsan.program.source import lost_results, users_class
from torchsan.program.where import Where
from torchsan.stream.events import Event

_LONG = 40  # of what is computed, a message repeats so much


class ReturnsNone(Check):
    """A path through forward ends without a return.

    That a forward gives None can be meant. It is not where the last thing that it does is to compute something that
    nothing can read; and it shows: None came out, or an error speaks of it.
    """

    numbers = (514,)

    def on_forward(self, event: Event) -> None:
        if event.output is None and sys.exc_info()[1] is None and isinstance(event.subject, nn.Module):
            self._say(event.subject, ((event, "this call gave None"),))

    def on_error(self, event: Event) -> None:
        if not isinstance(event.error, (TypeError, AttributeError)) or "NoneType" not in str(event.error):
            return
        owners: list[nn.Module] = []
        traceback = event.error.__traceback__
        while traceback is not None:
            owner = traceback.tb_frame.f_locals.get("self")
            if isinstance(owner, nn.Module):
                owners.append(owner)
            traceback = traceback.tb_next
        seen: set[int] = set()
        for owner in owners:
            for part in owner.modules():
                if id(part) not in seen and users_class(part) is not None:
                    seen.add(id(part))
                    self._say(part, ((event, "the None ends up here"),))

    def _say(self, module: nn.Module, related: tuple[tuple[Event | Where | None, str], ...]) -> None:
        for place, text in lost_results(module):
            name = type(module).__name__
            self.found(514, place, model=name, value=text[:_LONG], related=related, details={"class": name})


CHECKS = (ReturnsNone,)
