"""torchsummary's `summary` of a model on the CPU: it makes an input on the GPU wherever there is one, unless it is told otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Instance, real
from torchlint.files.project import without_comments
from torchlint.rules.base import View
from torchlint.rules.shared.blocks import conditions_of
from torchlint.rules.shared.moved_too_late import may_be_moved_before
from torchlint.rules.shared.never_moved import PLACES, holds_weights_of_the_cpu

_SUMMARIES = frozenset({"torchsummary.summary", "torchsummary.torchsummary.summary"})
_ARGUMENTS = frozenset({"input_size", "batch_size", "device"})
# A place that is come to on the CPU alone; a program that hides its GPUs.
_ASKS = re.compile(r"cuda|gpu|cpu|device|is_available", re.IGNORECASE)
_HIDDEN = re.compile(r"CUDA_VISIBLE_DEVICES[\"']\s*\]?\s*[=,]\s*[\"'](?:-1)?[\"']")


def summaries_of_the_cpu(view: View) -> Iterator[tuple[Event, Instance]]:
    """The calls of `summary` that are given a model which is on the CPU for certain; one for each model."""
    told: set[int] = set()
    for event in view.of("unknown"):
        if event.get("name") not in _SUMMARIES or not event.args:
            continue
        model = real(event.args[0])
        if len(model) != 1 or not isinstance(model[0], Instance) or id(model[0]) in told or not _makes_its_input_on_the_gpu(event):
            continue
        if model[0].kind == "module" and _is_on_the_cpu(view, event, model[0]) and not _is_asked_about(event):
            told.add(id(model[0]))
            yield event, model[0]


def _makes_its_input_on_the_gpu(event: Event) -> bool:
    node = event.site.node
    if not isinstance(node, cst.Call) or not node.args or node.args[0].keyword is not None or any(arg.star for arg in node.args):
        return False
    named = {arg.keyword.value: event.site.parsed.text(arg.value) for arg in node.args if arg.keyword is not None}
    places = len(node.args) - len(named)
    return named.keys() <= _ARGUMENTS and places <= 3 and named.get("device", "'cuda'").strip("'\"") == "cuda"


def _is_on_the_cpu(view: View, event: Event, model: Instance) -> bool:
    return model.site is not None and holds_weights_of_the_cpu(view, model) and not may_be_moved_before(view, event, model, _SUMMARIES)


def _is_asked_about(event: Event) -> bool:
    """Whether the program asks for the GPU first, hides it, or has something else that brings models to it."""
    if any(_ASKS.search(text) for text, _ in conditions_of(event.site)):
        return True
    files = {id(facts): facts for site in (event.site, *event.calls) if site is not None for facts in [site.parsed.facts]}
    return any(PLACES.search(text) or _HIDDEN.search(text) for facts in files.values() for text in [without_comments(facts.lines)])
