"""612: options for worker processes, and no worker processes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, number
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, option, true, workers
from torchlint.rules.shared.processes import before_in_unit

CODE = 612
_ASKED = re.compile(r"\b(?:if|while)\b[^\n]*workers")


def check(view: View) -> Iterator[Report]:
    """`persistent_workers=True`, `prefetch_factor=` or `multiprocessing_context=` with `num_workers=0`."""
    for event, loader in created(view):
        if workers(loader) != 0 or _ASKED.search(before_in_unit(event.site)):
            continue  # what is asked of a number is not decided here
        context = option(loader, "multiprocessing_context")
        wrong = [
            name
            for name, there in (
                ("persistent_workers=True", true(option(loader, "persistent_workers"))),
                ("prefetch_factor", number(option(loader, "prefetch_factor")) is not None),
                ("multiprocessing_context", isinstance(context, Const) and bool(context.value)),
            )
            if there
        ]
        if wrong:
            how = "num_workers=0" if option(loader, "num_workers") is not None else "num_workers left at 0"
            yield Report(CODE, event.site, {"option": wrong[0], "workers": how})
