"""708: torch.cuda.amp, now torch.amp with the device as an argument."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.apis import table
from torchlint.dryrun.torch_api.names import canonical
from torchlint.rules.base import Report, View
from torchlint.rules.custom.deprecated_api import AMP, applies, rename
from torchlint.findings import Location
from torchlint.rules.mend import Change, Mend
from torchlint.rules.written import calls, second_choice

CODE = 708
WATCHED = frozenset(canonical(name) for name in table().deprecated if name.startswith(AMP))


def check(view: View) -> Iterator[Report]:
    """`torch.cuda.amp.autocast()`, `GradScaler()` of torch.cuda.amp."""
    for event, name in calls(view):
        entry = table().deprecated.get(name)
        if entry is None or not name.startswith(AMP) or not applies(entry, view) or second_choice(event.site):
            continue
        device = name.split(".")[1]
        mend = _mend(event.site, entry.instead, device) if name.endswith(("autocast", "GradScaler")) else None
        yield Report(CODE, event.site, {"name": name, "instead": entry.instead, "device": device}, mend=mend)


def _mend(site, instead: str, device: str) -> Mend | None:
    """Adds the device in front. Positional arguments of autocast stand in another order there."""
    call = site.node
    if instead.endswith("autocast") and any(arg.keyword is None for arg in call.args):
        return None
    change = rename(site, "", instead)
    if change is None:
        return None
    at = site.parsed.location(call.args[0] if call.args else call)
    if call.args:
        put = Location(at.filename, at.row, at.column, at.row, at.column)
    else:
        put = Location(at.filename, at.end_row, at.end_column - 1, at.end_row, at.end_column - 1)
    given = f'"{device}"' + (", " if call.args else "")
    return Mend(f"use `{instead}` for {device}", [change, Change(site.parsed, put, given)])
