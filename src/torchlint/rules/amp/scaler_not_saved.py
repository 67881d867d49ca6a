"""710: a checkpoint to go on from has the optimizer's state, and not the scaler's."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import checkpoints, in_files, left_out, put_together
from torchlint.rules.shared.mixed_precision import is_scaler

CODE = 710


def check(view: View) -> Iterator[Report]:
    """`torch.save({"model": ..., "optimizer": ...})` in a program that steps through a GradScaler."""
    told: set[object] = set()
    for event, parts in checkpoints(view):
        same = {id(event.items), put_together(event).location()}
        if same & told:
            continue  # the same dict, to a second file, or of a helper that is called twice
        told |= same
        if "optimizer" not in parts or in_files(view, event, r"scaler\w*\.(?:load_)?state_dict|amp\.state_dict|[\"']\w*scaler\w*[\"']"):
            continue
        step = next((step for step in view.of("scaler.step") if is_scaler(step.subject)), None)
        if step is not None:
            name = step.subject.name or "scaler"
            place = left_out(event, getattr(step.subject, "site", None), step.site)
            yield Report(CODE, place, {"scaler": name}, [(step.site, "the steps go through the scaler here")])
