"""934: an operation that has no deterministic implementation, in a program that asks for determinism."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Const, Instance, Ref, Seq, number, real
from torchlint.rules.base import Report, View

CODE = 934
# What torch.use_deterministic_algorithms says of itself. `interpolate` is on its list, but is deterministic by now.
_LAYERS = frozenset(
    f"torch.nn.{name}" for name in "AvgPool3d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool2d FractionalMaxPool2d"
    " FractionalMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d ReflectionPad1d ReflectionPad2d ReflectionPad3d"
    " CTCLoss".split()
)
_ASKED = re.compile(r"use_deterministic_algorithms\(\s*(?:mode\s*=\s*)?True\s*\)")
WATCHED = frozenset({"torch.histc", "torch.nn.functional.grid_sample", "torch.nn.functional.ctc_loss"})


def check(view: View) -> Iterator[Report]:
    """`nn.AdaptiveAvgPool2d(7)` in a file that calls `torch.use_deterministic_algorithms(True)`."""
    for event in view.of("forward", "loss"):
        layer = event.subject
        if not isinstance(layer, Instance) or not isinstance(layer.cls, Ref) or layer.type not in _LAYERS:
            continue
        backward = "" if "Unpool" in layer.type else "the backward of "
        if (event.grad_on is not False or not backward) and not _mean(layer) and _asked(event):
            yield Report(CODE, event.site, {"call": f"{backward}{layer.type.replace('torch.', '')}"})
    for event in view.of("call"):
        if event.name in WATCHED and _asked(event) and isinstance(event.site.node, cst.Call):
            backward = "" if event.name == "torch.histc" else "the backward of "
            if event.grad_on is not False or not backward:
                yield Report(CODE, event.site, {"call": backward + event.name.replace("torch.nn.functional", "F")})


def _asked(event) -> bool:
    lines = event.site.parsed.facts.lines
    return any("cuda" in line for line in lines) and any(_ASKED.search(line) for line in lines)


def _mean(layer: Instance) -> bool:
    """Whether a pooling has one place to fill: that is a mean, and deterministic."""
    given = layer.args[0] if layer.args else layer.kwargs.get("output_size")
    alts = real(given) if given is not None else ()
    if not alts:
        return False
    one = alts[0]
    if isinstance(one, Seq):
        return "(1,1)" in str(layer.site.text()).replace(" ", "") if layer.site is not None else True
    return number(one) == 1 or not isinstance(one, Const)
