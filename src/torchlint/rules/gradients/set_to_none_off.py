"""133: gradients are filled with zeros instead of being dropped."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, without_argument

CODE = 133
_GRADIENT = re.compile(r"\.grad\b")


def check(view: View) -> Iterator[Report]:
    """`zero_grad(set_to_none=False)`."""
    for event in view.of("optimizer.zero_grad"):
        node = event.site.node
        for arg in node.args if isinstance(node, cst.Call) else ():
            named = arg.keyword is None or arg.keyword.value == "set_to_none"
            if named and isinstance(arg.value, cst.Name) and arg.value.value == "False":
                yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_mend(event.site, arg))


def _mend(site: Site, arg: cst.Arg) -> Mend | None:
    """Leaves it out, where nothing in the file looks at a gradient itself and would find None."""
    change = without_argument(site, arg)
    if change is None or any(_GRADIENT.search(line) for line in site.parsed.facts.lines):
        return None
    return Mend("leave it out", [change], safe=False)
