"""Names that torch is about to remove: when that is worth saying, and a call by another name."""

from __future__ import annotations

import libcst as cst

from torchlint.catalogue.apis import Deprecated, release, table
from torchlint.dryrun.source_text import Site
from torchlint.rules.base import View
from torchlint.rules.mends.changes import Change, replace
from torchlint.rules.shared.written_names import qualified

AMP = ("torch.cuda.amp.", "torch.cpu.amp.")
# Every project meets these: told only to those who say that they run on no older release.
_EVERYBODY = release(table().releases[-1])


def applies(entry: Deprecated, view: View) -> bool:
    """Whether the project's torch says so, too. What only the newest release says, older ones have no word for."""
    if view.torch_version is None:
        return release(entry.by) < _EVERYBODY and view.admits(release(entry.by))
    return view.torch_version >= release(entry.by)


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
