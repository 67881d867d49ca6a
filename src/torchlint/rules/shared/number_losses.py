"""Losses that are asked for their first item: until 0.4 a loss was a tensor of one item, and now it is a number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event
from torchlint.rules.base import View

_ASKED = re.compile(r"\.data\[0\]")


def first_items(view: View) -> Iterator[tuple[Site, str]]:
    """`loss.data[0]` in a function that calls `loss.backward()` without a gradient: the first place, and the text of the loss."""
    told = set()
    for event in view.of("backward"):
        node = event.site.node if event.site is not None else None
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or _has_gradient(event, node):
            continue
        parsed, loss = event.site.parsed, event.site.parsed.text(node.func.value)
        lines = parsed.facts.lines[parsed.unit.start - 1 : parsed.unit.end]
        if (parsed.unit, loss) in told or not any(_ASKED.search(line) for line in lines):
            continue
        told.add((parsed.unit, loss))
        wanted = f"{loss}.data[0]"
        found = next((part for part in walk(parsed.module) if isinstance(part, cst.Subscript) and parsed.text(part) == wanted), None)
        if found is not None:
            yield Site(parsed, found), loss


def _has_gradient(event: Event, node: cst.Call) -> bool:
    return any(arg.keyword is None or arg.keyword.value in ("gradient", "grad_tensors") for arg in node.args)
