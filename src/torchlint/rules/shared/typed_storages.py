"""Storages that count in numbers of a type, which torch 2.0 warns of: `x.storage()`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Event, Tensor, real
from torchlint.rules.base import View
from torchlint.rules.shared.written_names import second_choice

# What storages are asked for, and nothing else that has a `storage()`.
_OF_STORAGES = frozenset("_new_shared data_ptr element_size nbytes is_shared share_memory_ tolist".split())


def typed_storages(view: View) -> Iterator[tuple[Site, str]]:
    """The calls, and the names of what is asked, as they are written."""
    if view.torch_version is not None and view.torch_version < (2, 0) or not view.admits((2, 0)):
        return
    for event in view.of("method"):
        node = event.site.node
        if event.name != "storage" or not isinstance(node, cst.Call) or node.args or not _of_tensor(event):
            continue
        if "untyped_storage" not in event.site.parsed.facts.words and not second_choice(event.site):  # or it is for older releases
            yield event.site, event.site.parsed.text(node.func.value)


def _of_tensor(event: Event) -> bool:
    alts = real(event.subject)
    if alts and all(isinstance(alt, Tensor) for alt in alts):
        return True
    behind = next(event.site.parsed.around(event.site.node), None)
    return isinstance(behind, cst.Attribute) and behind.attr.value in _OF_STORAGES
