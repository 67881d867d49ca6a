"""817: a process group is started and never destroyed."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import in_files
from torchlint.rules.shared.processes import INIT

CODE = 817
CALLS = frozenset({INIT})


def check(view: View) -> Iterator[Report]:
    """`init_process_group` in a program that steps, and that names no `destroy_process_group`."""
    for event in view.of("call"):
        if event.name == INIT and view.steps() and not in_files(view, event, r"destroy_process_group|cleanup"):
            yield Report(CODE, event.site, {})
