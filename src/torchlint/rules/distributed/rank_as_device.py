"""804: every process puts its model on the same GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import before
from torchlint.dryrun.values import Const, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import INIT, without_own_gpu

CODE = 804
CALLS = frozenset({INIT})
_CHOOSES = re.compile(r"set_device|CUDA_VISIBLE_DEVICES|cuda\.device\(|set_default_device|HIP_VISIBLE|device_ids=\[0\]")


def check(view: View) -> Iterator[Report]:
    """`model.cuda()` with no device number, in a program that starts NCCL and chooses no device anywhere."""
    inits = {event for event in view.of("call") if event.name == INIT and _nccl(event)}
    if not inits:
        return
    files = {id(event.site.parsed.facts): event.site.parsed.facts for event in view.run.graph.events if event.site is not None}
    if any(_CHOOSES.search(line) for facts in files.values() for line in facts.lines):
        return
    wrapped = [alt for event in view.of("wrap") if event.subject.type.endswith("DistributedDataParallel") for alt in real(event.module)]
    for event in view.of("module.move"):
        if event.name not in ("to", "cuda") or event.device != "cuda" or event.subject not in wrapped or not _unnumbered(event) or without_own_gpu(event):
            continue
        found, _ = before(event, lambda other: other in inits)
        if found:
            roles = {"call": view.call_text(event.site)}
            yield Report(CODE, event.site, roles, [(found[0].site, "each process comes past this, and none says which GPU is its own")])


def _unnumbered(event) -> bool:
    """Whether a call says "cuda", and not which."""
    return event.name == "cuda" and "()" in event.site.text()[-2:] or re.search(r"""\(["']cuda["']\)$""", event.site.text()) is not None


def _nccl(event) -> bool:
    backend = event.kwargs.get("backend", event.args[0] if event.args else None)
    if "device_id" in event.kwargs or "**" in event.kwargs:
        return False
    return isinstance(backend, Const) and isinstance(backend.value, str) and backend.value.lower() == "nccl"
