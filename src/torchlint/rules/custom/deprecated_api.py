"""942: what torch is about to remove."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.apis import Deprecated, release, table
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.rules.base import Report, View
from torchlint.rules.mend import Change, Mend, replace
from torchlint.rules.written import calls, qualified, second_choice

CODE = 942
AMP = ("torch.cuda.amp.", "torch.cpu.amp.")
# Every project meets these: told only to those who say that they run on no older release.
_EVERYBODY = release(table().releases[-1])
# torch.range would have every file with a loop read closely.
WATCHED = frozenset(canonical(name) for name in table().deprecated if not name.startswith(AMP) and name != "torch.range")
# The same function under another name: same arguments, same result.
RENAMED = frozenset(
    ["torch.ger", "torch.cuda.memory_cached", "torch.cuda.max_memory_cached", "torch.nn.utils.clip_grad_norm"]
    + [name for name, entry in table().deprecated.items() if entry.instead == name + "_"]
)


def check(view: View) -> Iterator[Report]:
    """`nn.init.xavier_uniform(w)`, `torch.qr(a)`."""
    for event, name in calls(view):
        entry = table().deprecated.get(name)
        if entry is None or name.startswith(AMP) or not applies(entry, view) or second_choice(event.site):
            continue
        if ".nn.init." in name and "init" not in event.site.parsed.text(event.site.node.func):
            continue
        then = f"; use `{entry.instead}`" if entry.instead else ""
        mend = renamed(event.site, name, entry) if name in RENAMED else None
        yield Report(CODE, event.site, {"name": name, "by": entry.by, "then": then}, mend=mend)


def applies(entry: Deprecated, view: View) -> bool:
    """Whether the project's torch says so, too. What only the newest release says, older ones have no word for."""
    if view.torch_version is None:
        return release(entry.by) < _EVERYBODY
    return view.torch_version >= release(entry.by)


def renamed(site: Site, name: str, entry: Deprecated) -> Mend | None:
    """Calls it by its new name, where the way there is spelled out: `nn.init.normal` from `torch.nn`."""
    change = rename(site, name, entry.instead)
    return Mend(f"use `{entry.instead}`", [change]) if change is not None else None


def rename(site: Site, name: str, wanted: str) -> Change | None:
    """The call's name changed to another one of torch; None where an import would have to change, too."""
    func = site.node.func
    if not isinstance(func, cst.Attribute):
        return None
    root: cst.BaseExpression = func
    while isinstance(root, cst.Attribute):
        owner = qualified(site, root.value)
        root = root.value
        if owner and wanted.startswith(owner + "."):
            return replace(site, site.parsed.text(root) + wanted[len(owner) :], func)
    return None
