"""814: gradients are averaged over all processes for every micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import in_files

CODE = 814


def check(view: View) -> Iterator[Report]:
    """A DistributedDataParallel model whose optimizer steps every k batches, with no `no_sync`."""
    wraps = [event for event in view.of("wrap") if event.subject.type == "torch.nn.parallel.DistributedDataParallel"]
    for backward in view.of("backward") if wraps else ():
        wrap = next((w for w in wraps if any(flow.subject in (w.subject, *real(w.module)) for flow in backward.flows)), None)
        if wrap is None or not backward.loops or any("%" in site.text() for site, _ in backward.guards):
            continue
        steps = [step for step in view.steps() if backward.loops[-1] in step.loops and view.reaches(backward, step.subject)]
        if steps and all(any("%" in site.text() for site, _ in step.guards) for step in steps):
            if not in_files(view, backward, r"no_sync|require_backward_grad_sync"):
                roles = {"loss": view.owner_text(backward, "loss")}
                yield Report(CODE, backward.site, roles, [(steps[0].site, "stepped only now and then"), (wrap.site, "wrapped here")])
