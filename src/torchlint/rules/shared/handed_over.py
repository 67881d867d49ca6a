"""What a call hands to a function, as it is written."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from torchlint.dryrun.source_text import Site


def handed_over(call: Site, params: Sequence[str]) -> dict[str, str]:
    """The text that a call gives for each parameter of a function or method, by its place or its name; what has a star counts as one."""
    args = call.node.args if isinstance(call.node, cst.Call) else ()
    by_place = dict(zip((param for param in params if param != "self"), (arg for arg in args if arg.keyword is None), strict=False))
    given = {**by_place, **{arg.keyword.value: arg for arg in args if arg.keyword is not None}}
    return {name: call.parsed.text(arg.value) for name, arg in given.items()}
