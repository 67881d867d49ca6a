"""932: cuDNN is asked to be deterministic, and to choose its algorithms by a race."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import happens_after
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Value, boolean
from torchlint.rules.base import Report, View

CODE = 932
_TRAINERS = frozenset(
    f"{package}.{name}" for package in ("pytorch_lightning", "lightning", "lightning.pytorch") for name in ("Trainer", "trainer.Trainer", "trainer.trainer.Trainer")
)
CALLS = _TRAINERS
_BENCHMARK, _DETERMINISTIC = "torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic"


def check(view: View) -> Iterator[Report]:
    """`cudnn.benchmark = True` wherever there is `cudnn.deterministic = True`, which an option may have asked for."""
    for asked in _set(view, _DETERMINISTIC):
        for event in _set(view, _BENCHMARK):
            if _always(event, asked) and _stays(asked, _DETERMINISTIC) and _stays(event, _BENCHMARK) and _meet(asked, event):
                yield Report(CODE, event.site, {}, [(asked.site, "determinism is asked for here")])
    for event in view.of("call"):
        if event.name in _TRAINERS and all(_on(event.kwargs.get(name)) for name in ("benchmark", "deterministic")):
            yield Report(CODE, _argument(event.site, "benchmark"), {}, [], words=_OF_A_TRAINER)


_OF_A_TRAINER = (
    "`benchmark=True` lets cuDNN time several algorithms and take the fastest, which may be another one in each run, though `deterministic=True` asks for equal results",
    "leave `benchmark` out, or set it to `False`, where runs are to be the same",
)


def _on(value: Value | None) -> bool:
    """Whether it is asked for, and not that it be warned of alone: `deterministic="warn"`."""
    return isinstance(value, Const) and value.value is True


def _argument(call: Site, name: str) -> Site:
    """Where an argument stands, if it is written in the call."""
    args = call.node.args if isinstance(call.node, cst.Call) else ()
    return next((Site(call.parsed, arg) for arg in args if arg.keyword is not None and arg.keyword.value == name), call)


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
