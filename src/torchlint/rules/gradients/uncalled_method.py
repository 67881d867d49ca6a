"""132: a method is named as a statement but not called."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Instance, Opaque, real
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, insert_after

CODE = 132

METHODS = {
    "module": frozenset({"eval", "train", "zero_grad", "cuda", "cpu", "half", "float"}),
    "optimizer": frozenset({"step", "zero_grad"}),
    "scheduler": frozenset({"step"}),
    "scaler": frozenset({"update"}),
    "tensor": frozenset({"backward"}),
}
UNMISTAKABLE = frozenset({"eval", "zero_grad", "backward", "train", "step"})


def check(view: View) -> Iterator[Report]:
    """`model.eval` on a line of its own; `with torch.no_grad:`."""
    for event in view.of("bare"):
        alts = real(event.owner)
        if alts and all(_has_method(alt, event.name) for alt in alts):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_called(event.site))
    for event in view.of("enter.uncalled"):
        if event.subject.name in ("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.amp.autocast"):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_called(event.site))


def _called(site: Site) -> Mend:
    return Mend("call it: add `()`", [insert_after(site, "()")])


def _has_method(owner, name: str) -> bool:
    if isinstance(owner, Instance):
        kind = {"wrapper": "module", "loss": "module"}.get(owner.kind, owner.kind)
        return name in METHODS.get(kind, ())
    return isinstance(owner, Opaque) and name in UNMISTAKABLE and name != "train" or (
        isinstance(owner, Opaque) and name == "train" and "module" in owner.tags
    )
