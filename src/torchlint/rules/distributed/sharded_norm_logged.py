"""824: a number is read from a gradient of which each process has a shard, and it is the shard's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site, dotted
from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View

CODE = 824
_SHARDS = ("torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard")
CALLS = frozenset(_SHARDS)
# What brings the parts together, or shows that somebody thought of them.
_TOGETHER = frozenset({"full_tensor", "redistribute", "all_reduce", "to_local", "reduce", "all_gather"})
_OF_GRADIENT = re.compile(
    r"\bgrad(?:\.data|\.detach\(\))*(?:\.(?:float|double|abs|pow|square)\([^()]*\))*\.(?:norm|sum|mean|max|min|amax|amin)\("
    r"|\b(?:torch|linalg)\.(?:norm|vector_norm)\(\s*[\w.]+\.grad\b"
)
_CLIPS = "<2.10"  # since then the norm of all gradients is the same on all processes


def check(view: View) -> Iterator[Report]:
    """`p.grad.norm().item()` after `fully_shard(model)`; with an old torch, `clip_grad_norm_(...).item()`, too."""
    shards = [event for event in view.of("call") if event.name in _SHARDS]
    if not shards:
        return
    told = set()
    for event in view.of("readout"):
        at = event.site.location()
        if event.name not in ("item", "float", "tolist") or (at.filename, at.row) in told or _TOGETHER & event.site.parsed.facts.words:
            continue
        made = _made(event.site)
        if _OF_GRADIENT.search(made) or _is_clip(view, event):
            told.add((at.filename, at.row))
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, [(shards[0].site, "the parameters are sharded here")])


def _made(site: Site) -> str:
    """How the value was made that is read: as it stands, or the last row above that gives its name a value."""
    text = site.parsed.text(site.node)
    name = _read(text)
    if name is None:
        return text
    lines = site.parsed.facts.lines
    gives = re.compile(rf"\s*{re.escape(name)}\s*=(?!=)\s*(.*)")
    for row in range(site.location().row - 1, 0, -1):
        line = lines[row - 1]
        if (match := gives.match(line)) is not None:
            return match[1]
        if line.lstrip().startswith(("def ", "async def ", "class ")):
            break
    return ""


def _read(text: str) -> str | None:
    match = re.fullmatch(r"(\w+)\.(?:item|tolist)\(\)|float\((\w+)\)", text.strip())
    return None if match is None else match[1] or match[2]


def _is_clip(view: View, event: Event) -> bool:
    """Whether it is the norm that clip_grad_norm_ gives, in a torch whose norm is the shard's."""
    if not view.runs_below(_CLIPS) or event.subject is None:
        return False
    value = getattr(event.subject, "site", None)
    return value is not None and dotted(getattr(value.node, "func", value.node)).endswith("clip_grad_norm_")
