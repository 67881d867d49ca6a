"""710: a checkpoint to go on from has the optimizer's state, and not the scaler's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import checkpoints, in_files, left_out, put_together
from torchlint.rules.shared.mixed_precision import APEX, is_scaler

CODE = 710
CALLS = frozenset({APEX})
# What says that a scaler's state is kept, or put back. Whether an object has an attribute that is called so (`hasattr(self, "mel_scaler")`)
# is no key of a checkpoint, and as often about something that scales features: such a question is passed over whole.
_KEPT = re.compile(
    r"scaler\w*\.(?:load_)?state_dict|amp\.state_dict"
    r"|^(?:(?!\bhasattr\([\w.]+,\s*[\"']).|hasattr\([\w.]+,\s*[\"']\w+[\"']\))*?[\"']\w*scaler\w*[\"']"
)


def check(view: View) -> Iterator[Report]:
    """`torch.save({"model": ..., "optimizer": ...})` in a program that steps through a GradScaler, or whose losses apex scales."""
    told: set[object] = set()
    for event, parts in (*checkpoints(view), *_alone(view)):
        written = getattr(event.subject, "site", None) or event.site
        same = {id(event.get("items") or event), put_together(event).location(), written.location()}
        if same & told:
            continue  # the same dict, to a second file, or of a helper that is called twice
        told |= same
        if "optimizer" not in parts or in_files(view, event, _KEPT):
            continue
        scaler = next(_scalers(view), None)
        if scaler is not None:
            name, made, site, words = scaler
            yield Report(CODE, left_out(event, made, site), {"scaler": name}, [(site, words)])


_STATE = re.compile(r"(?:\w+\.)?\w*optim\w*\.state_dict\(\)")


def _alone(view: View) -> Iterator[tuple[Event, set[str]]]:
    """The first optimizer whose state has a file of its own: `torch.save(optimizer.state_dict(), "optimizer.pt")`."""
    for event in view.of("save"):
        node = event.site.node
        if isinstance(node, cst.Call) and node.args and _STATE.fullmatch(event.site.parsed.text(node.args[0].value)):
            yield event, {"optimizer"}
            return


def _scalers(view: View) -> Iterator[tuple[str, Site | None, Site, str]]:
    """What scales losses by a number that it finds by itself: its name, where it was made, and a place to show, with what is there."""
    for step in view.of("scaler.step"):
        if is_scaler(step.subject):
            yield step.subject.name or "scaler", getattr(step.subject, "site", None), step.site, "the steps go through the scaler here"
    for call in view.of("call") if view.of("optimizer.step") else ():
        if call.name == APEX and _tries_scales(call):
            yield "amp", None, call.site, "from here on apex scales the losses"


def _tries_scales(call: Event) -> bool:
    """Whether apex computes in float16 and tries which scale fits: neither O0, nor a scale that is given."""
    level, scale = call.kwargs.get("opt_level"), call.kwargs.get("loss_scale")
    computes_low = not isinstance(level, Const) or level.value in ("O1", "O2")
    return computes_low and "**" not in call.kwargs and (scale is None or isinstance(scale, Const) and scale.value in (None, "dynamic"))
