"""133: gradients are filled with zeros instead of being dropped."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.rules.base import Report, View
from torchlint.rules.mend import Mend, without_argument

CODE = 133


def check(view: View) -> Iterator[Report]:
    """`zero_grad(set_to_none=False)`."""
    for event in view.of("optimizer.zero_grad"):
        node = event.site.node
        for arg in node.args if isinstance(node, cst.Call) else ():
            named = arg.keyword is None or arg.keyword.value == "set_to_none"
            if named and isinstance(arg.value, cst.Name) and arg.value.value == "False":
                change = without_argument(event.site, arg)
                mend = Mend("leave it out", [change], safe=False) if change is not None else None
                yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=mend)
