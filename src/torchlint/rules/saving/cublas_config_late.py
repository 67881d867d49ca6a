"""933: CUBLAS_WORKSPACE_CONFIG is set when cuBLAS has read it already."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import before
from torchlint.dryrun.values import Const, Event, Value
from torchlint.rules.base import Report, View

CODE = 933
_NAME = "os.environ[CUBLAS_WORKSPACE_CONFIG]"


def check(view: View) -> Iterator[Report]:
    """`os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"` behind a training step."""
    for event in view.of("setting"):
        if event.name != _NAME or event.loops or not event.site.parsed.facts.words & {"cuda", "device"}:
            continue
        found, never = before(event, _matters)
        used = [other for other in found if other.kind == "backward"]
        if used and not never and not _set_in_time(used[0], event):
            yield Report(CODE, event.site, {}, [(used[0].site, "the device has computed by now")])


def _set_in_time(used: Event, late: Event) -> bool:
    """Whether the same was set before the device computed, too: a helper that seeds is called for each run."""
    first, never = before(used, lambda event: event.kind == "setting" and event.name == _NAME)
    return not never and bool(first) and all(_same(event.value, late.value) for event in first)


def _same(one: Value, other: Value) -> bool:
    return one is other or isinstance(one, Const) and isinstance(other, Const) and one.value == other.value


def _matters(event: Event) -> bool:
    return event.kind == "backward" or event.kind == "setting" and event.name == _NAME
