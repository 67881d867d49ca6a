"""804: every process puts its model on the same GPU, or leaves its own unsaid."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import before
from torchlint.dryrun.values import Const, Event, Opaque, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.processes import INIT, without_own_gpu

CODE = 804
CALLS = frozenset({INIT})
_CHOOSES = re.compile(r"set_device|CUDA_VISIBLE_DEVICES|cuda\.device\(|set_default_device|HIP_VISIBLE|device_ids=\[0\]")
_OWN = re.compile(r"device_ids\s*=\s*\[\s*(?!\d|None\b)[^\[\],]+\]")  # one that is computed: another one in each process
_MAY_CHOOSE = re.compile(r"dist|device|gpu|cuda|init|set_?up|launch|slurm|env|rank", re.I)
# What goes by the current device. Memory that is pinned does not: any device's context serves.
_GOES_BY_IT = re.compile(r"(?:dist\.)?barrier\(\)|\b(?:all_gather|gather|broadcast|scatter)_object(?:_list)?\(|torch\.cuda\.synchronize\(\)|\.cuda\(\)")
_NO_NUMBER = re.compile(
    r"""(?:torch\.device\(\s*)?(["'])cuda\1(?:\s+if\s+(?:torch\.cuda\.is_available\(\)|[\w.]*cuda\w*)\s+else\s+(["'])cpu\2)?\s*\)?""", re.I
)
_WORD = re.compile(r"\w+")
_UNBOUND = (
    "nothing tells a process which GPU is its own: `{what}` (line {row}) names no device and goes to GPU 0 in every process",
    "call `torch.cuda.set_device(local_rank)` before it: else each process takes memory on GPU 0, too, and a `barrier()` may hang",
)


def check(view: View) -> Iterator[Report]:
    """A program that starts NCCL and chooses no device anywhere: `model.cuda()` with no device number, or each call with one."""
    inits = {event for event in view.of("call") if event.name == INIT and _nccl(event)}
    if not inits:
        return
    files = {id(event.site.parsed.facts): event.site.parsed.facts for event in view.run.graph.events if event.site is not None}
    if any(_CHOOSES.search(line) for facts in files.values() for line in facts.lines):
        return
    wraps = [event for event in view.of("wrap") if event.subject.type.endswith("DistributedDataParallel")]
    wrapped = [alt for event in wraps for alt in real(event.module)]
    told = False
    for event in view.of("module.move"):
        if event.name not in ("to", "cuda") or event.subject not in wrapped or without_own_gpu(event):
            continue
        if not (event.device == "cuda" and _unnumbered(event) or _by_name(event)):
            continue
        found, _ = before(event, lambda other: other in inits)
        if found:
            roles = {"call": view.call_text(event.site)}
            told = True
            yield Report(CODE, event.site, roles, [(found[0].site, "each process comes past this, and none says which GPU is its own")])
    if not told:
        yield from _unbound(view, inits, wraps)


def _unbound(view: View, inits: set[Event], wraps: list[Event]) -> Iterator[Report]:
    """Where a model goes to a GPU by number, and what goes by the current device goes to GPU 0: `barrier()`, objects that are
    gathered."""
    root = view.run.root
    if root is not None and root.home is not None:
        return  # a method that nothing in view calls: whoever makes the object may have chosen
    if any(_MAY_CHOOSE.search(event.name or "") for event in view.of("unknown")):
        return
    for event in wraps:
        if not _OWN.search(event.site.text()) or without_own_gpu(event):
            continue
        found, _ = before(event, lambda other: other in inits)
        used = _goes_by_it(event)
        if found and used is not None and not _chosen_elsewhere(view, found[0]):
            roles = {"what": used[0], "row": str(used[1])}
            yield Report(CODE, found[0].site, roles, [(event.site, "here the process has a GPU of its own")], words=_UNBOUND)
            return


def _goes_by_it(wrap: Event) -> tuple[str, int] | None:
    """What in the file of the wrap goes by the current device, and its row."""
    for row, line in enumerate(wrap.site.parsed.facts.lines, 1):
        used = _GOES_BY_IT.search(line.partition("#")[0].replace(" = ", "="))
        if used is not None:
            return used[0].rstrip("("), row
    return None


def _chosen_elsewhere(view: View, event: Event) -> bool:
    """Whether a file of the project chooses that imports the program, or is imported by it."""
    path, lines = event.site.parsed.facts.path, event.site.parsed.facts.lines
    project = view.run.world.project_of(path)
    if project is None:
        return False
    users = {user.path for user in project.users(path)}
    imported = set(_WORD.findall("".join(line for line in lines if "import" in line)))
    return any(
        _CHOOSES.search(file.code)
        for other, file in project.files.items()
        if other in users or os.path.splitext(os.path.basename(other))[0] in imported
    )


def _unnumbered(event) -> bool:
    """Whether a call says "cuda", and not which."""
    return event.name == "cuda" and "()" in event.site.text()[-2:] or re.search(r"""\(["']cuda["']\)$""", event.site.text()) is not None


def _by_name(event: Event) -> bool:
    """Whether a call names a device that its file makes once, of no number: `device = torch.device("cuda")`."""
    node = event.site.node
    if not isinstance(node, cst.Call) or len(node.args) != 1 or not isinstance(node.args[0].value, cst.Name | cst.Attribute):
        return False
    name = re.escape(event.site.parsed.text(node.args[0].value))
    lines = (line.split("#", 1)[0] for line in event.site.parsed.facts.lines)
    sides = (line.partition("=")[::2] for line in lines if re.search(rf"(?<![\w.]){name}\s*(?:,[^=]*)?=[^=]", line))
    made = [right for left, right in sides if "(" not in left]
    return len(made) == 1 and _NO_NUMBER.fullmatch(made[0].strip()) is not None


def _nccl(event: Event) -> bool:
    backend = event.kwargs.get("backend", event.args[0] if event.args else None)
    if "device_id" in event.kwargs or "**" in event.kwargs:
        return False
    if type(backend) is Opaque and backend.source == "attr" and event.site is not None:
        asked = rf"--{backend.name.rpartition('.')[2].replace('_', '[-_]')}[\"'][^\n]*\bdefault\s*=\s*[\"']nccl[\"']"
        return any(re.search(asked, line) for line in event.site.parsed.facts.lines)
    return isinstance(backend, Const) and isinstance(backend.value, str) and backend.value.lower() == "nccl"
