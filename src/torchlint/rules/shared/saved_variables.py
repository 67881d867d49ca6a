"""What a backward of an autograd function asks its context for by the name that torch 0.4 warns of: `ctx.saved_variables`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.rules.base import View
from torchlint.rules.shared.autograd_functions import is_autograd_function


def saved_variables(view: View) -> Iterator[tuple[Site, str]]:
    """The places in a static `backward`, and what is written there. One that is not static raises whatever it asks for."""
    root = view.run.root
    if root is None or root.name != "backward" or root.unit is None or "saved_variables" not in root.unit.words or not view.admits((0, 4)):
        return
    if not is_autograd_function(root.home) or "staticmethod" not in root.unit.decorators:
        return
    parsed = view.run.world.parse(root.facts, root.unit)
    for node in walk(parsed.module) if parsed is not None else ():
        if isinstance(node, cst.Attribute) and node.attr.value == "saved_variables" and isinstance(node.value, cst.Name):
            yield Site(parsed, node), parsed.text(node)
