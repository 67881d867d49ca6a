"""515: every unit of a layer starts with the same weights."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, number
from torchlint.rules.base import Report, View

CODE = 515
_WEIGHT = re.compile(r"^(\w+)\.weight(?:\.data)?$")
_MATRIX = re.compile(r"\b(?:Linear|Conv[123]d|ConvTranspose[123]d)\b")
_OTHER = re.compile(r"Norm|\bin\b|==|\bnot\b|hasattr|name")


def check(view: View) -> Iterator[Report]:
    """`nn.init.constant_(m.weight, 0.5)` or `m.weight.data.fill_(0.01)` for every linear layer or convolution."""
    for event in view.of("init", "inplace"):
        node = event.site.node
        if not isinstance(node, cst.Call) or not _constant(event):
            continue
        target = node.args[0].value if event.kind == "init" else node.func.value
        match = _WEIGHT.match(event.site.parsed.text(target))
        guard = _every_layer(event, match[1]) if match else None
        if guard is not None and not _again(view, event, match[1]):
            yield Report(
                CODE, event.site, {"call": view.call_text(event.site)}, [(guard, "for every layer of this kind")]
            )


def _constant(event: Event) -> bool:
    if event.kind == "inplace":
        return (
            event.get("method") == "zero_" or event.get("method") == "fill_" and number(event.get("value")) is not None
        )
    return (
        event.name in ("zeros_", "ones_")
        or event.name == "constant_"
        and len(event.args) > 1
        and number(event.args[1]) is not None
    )


def _every_layer(event: Event, name: str):
    """The condition that says `isinstance(m, nn.Linear)`, where there is no other one."""
    found = None
    for site, holds in event.guards:
        text = site.text()
        if not text.startswith(f"isinstance({name},") or _OTHER.search(text):
            return None
        if holds and _built(event, _MATRIX.findall(text)):
            found = site
    return found


def _built(event: Event, kinds: list[str]) -> bool:
    """Whether the file builds such a layer: the condition is often copied with others into models that have none."""
    lines = event.site.parsed.facts.lines
    if event.site.parsed.unit.words.isdisjoint({"modules", "named_modules", "children"}):
        return bool(kinds)  # for the models of other files, too
    made = re.compile(rf"\b(?:{'|'.join(kinds)})\(")
    return bool(kinds) and any(made.search(line.split("#", 1)[0]) for line in lines)


def _again(view: View, event: Event, name: str) -> bool:
    """Whether the same function also gives such weights other values."""
    unit = event.site.parsed.unit
    return any(
        other is not event
        and other.site.parsed.unit is unit
        and f"{name}.weight" in other.site.text()
        and (other.get("name") or other.get("method")) not in ("zeros_", "ones_", "constant_", "zero_", "fill_")
        and set(event.guards) <= set(other.guards)
        for other in view.of("init", "inplace")
    )
