"""941: what torch no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.apis import release, table
from torchlint.dryrun.torch_api.names import canonical
from torchlint.rules.base import Report, View
from torchlint.rules.written import asks_first, calls, imports

CODE = 941
WATCHED = frozenset(map(canonical, table().removed))


def check(view: View) -> Iterator[Report]:
    """A call of `torch.symeig`, an import from `torch._six`."""
    met = [(event.site, name) for event, name in calls(view) if not event.guards]
    for site, name in (*met, *imports(view)):
        found = _removed(name)
        if found is None or asks_first(site):
            continue
        gone = table().removed[found]
        if view.torch_version is not None and view.torch_version < release(gone.by):
            continue
        then = f"; use `{gone.instead}`" if gone.instead else ""
        yield Report(CODE, site, {"name": found, "after": gone.after, "by": gone.by, "then": then})


def _removed(name: str) -> str | None:
    """The removed name, or the removed module that it is in."""
    while name.count("."):
        if name in table().removed:
            return name
        name = name.rpartition(".")[0]
    return None
