"""932: cuDNN is asked to be deterministic, and to choose its algorithms by a race."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import happens_after
from torchlint.dryrun.values import Event, boolean
from torchlint.rules.base import Report, View

CODE = 932
_BENCHMARK, _DETERMINISTIC = "torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic"


def check(view: View) -> Iterator[Report]:
    """`cudnn.benchmark = True` wherever there is `cudnn.deterministic = True`, which an option may have asked for."""
    for asked in _set(view, _DETERMINISTIC):
        for event in _set(view, _BENCHMARK):
            if _always(event, asked) and _stays(asked, _DETERMINISTIC) and _stays(event, _BENCHMARK) and _meet(asked, event):
                yield Report(CODE, event.site, {}, [(asked.site, "determinism is asked for here")])


def _set(view: View, name: str) -> list[Event]:
    return [event for event in view.of("setting") if event.name == name and boolean(event.value) is True]


def _always(event: Event, asked: Event) -> bool:
    """Whether no option of its own leads to it: what leads to its whole function is another matter, and so is whether there is a GPU."""
    own = (guard for guard in event.guards if guard.site.parsed is event.site.parsed)
    return all(guard in asked.guards or _GPU.fullmatch(guard.site.parsed.text(guard.site.node)) for guard in own)


_GPU = re.compile(r"(?:[\w.]+\.)?(?:(?:use_?|with_?|has_?)?(?:cuda|gpus?)|is_available\(\)|cudnn\.enabled)", re.IGNORECASE)


def _meet(one: Event, other: Event) -> bool:
    """Whether one of them comes after the other."""
    return happens_after(one, lambda event: event is other) or happens_after(other, lambda event: event is one)


def _stays(event: Event, name: str) -> bool:
    """Whether nothing sets it to something else later."""
    return not happens_after(event, lambda other: other.kind == "setting" and other.name == name and boolean(other.value) is not True)
