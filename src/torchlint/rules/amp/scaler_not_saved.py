"""710: a checkpoint to go on from has the optimizer's state, and not the scaler's."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import checkpoints, in_files, put_together
from torchlint.rules.shared.mixed_precision import is_scaler

CODE = 710


def check(view: View) -> Iterator[Report]:
    """`torch.save({"model": ..., "optimizer": ...})` in a program that steps through a GradScaler."""
    told = set()
    for event, parts in checkpoints(view):
        if id(event.items) in told:
            continue  # the same dict, to a second file
        told.add(id(event.items))
        if "optimizer" not in parts or in_files(view, event, r"scaler\w*\.(?:load_)?state_dict|amp\.state_dict|[\"']\w*scaler\w*[\"']"):
            continue
        step = next((step for step in view.of("scaler.step") if is_scaler(step.subject)), None)
        if step is not None:
            name = step.subject.name or "scaler"
            yield Report(CODE, put_together(event), {"scaler": name}, [(step.site, "the steps go through the scaler here")])
