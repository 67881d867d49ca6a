"""508: sizes that cannot follow one another."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Dict, Event, Instance, Seq, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import in_files
from torchlint.rules.shared.read_images import image_as_read
from torchlint.rules.shared.reached import may_be_dead
from torchlint.rules.shared.tests import is_test

CODE = 508
_SIGNS = frozenset(
    {"Add", "Subtract", "Multiply", "Divide", "Equal", "NotEqual", "LessThan", "GreaterThan", "LessThanEqual", "GreaterThanEqual"}
)


def check(view: View) -> Iterator[Report]:
    """A layer whose input has another size than it was made for, or an operation whose operands do not fit."""
    told = set()
    for event in view.of("shape"):
        made = event.subject.site if event.subject is not None else None
        # In a Sequential the layer itself is the place to look at: the call is one of the whole.
        site = made if event.chained and made is not None else event.site
        if site is None or id(site.node) in told or may_be_dead(event) or event.whole is not None and not _used(view, event.whole):
            continue
        if event.clash.what == "channels" and (_takes_as_read(view, event) or _may_have_another_stem(view, event)):
            continue  # of the first, 012 says more
        told.add(id(site.node))
        related = []
        if event.source is not None and event.source.node is not site.node:
            related.append((event.source, f"its input is made here: {event.shape.text()}"))
        if made is not None and made.node is not site.node:
            related.append((made, "the layer is made here"))
        if event.calls and site is event.site:
            related.append((event.calls[-1], "called from here"))
        yield Report(CODE, site, {"problem": _problem(view, event, site)}, related)


def _takes_as_read(view: View, event: Event) -> bool:
    return any(other.site == event.site and image_as_read(other) is not None for other in view.of("forward"))


# What the first layer of a model of torchvision is called, or is reached by.
_STEM = re.compile(r"\bconv1\b|\bfeatures\b|\bstem\b|conv_proj|patch_embed|_modules\b|\bmodules\(|named_\w+\(|\bchildren\(|setattr\(|in_chan")


def _may_have_another_stem(view: View, event: Event) -> bool:
    """Whether somebody may have put another first layer into a model of torchvision: not all that does so is seen to do it."""
    model = event.subject
    return isinstance(model, Instance) and model.type.startswith("torchvision.") and in_files(view, event, _STEM)


def _used(view: View, whole: Value) -> bool:
    """Whether somebody may give a Sequential an input: it is called, part of something, handed on. One that only stands there
    is looked at, or taken apart; so is one that a test hands to what it tests."""
    handed = id(whole) in view.run.escaped and not (whole.site is not None and is_test(whole.site.parsed.facts))
    if id(whole) in view.run.registered or handed:
        return True
    if any(id(whole) in view.closure(alt) for event in view.of("forward") for alt in real(event.subject)):
        return True
    given = (event.subject if event.kind == "return" else event.value for event in view.of("return", "setattr", "append"))
    kept = (alt for value in given for alt in real(value))
    return any(alt is whole or isinstance(alt, (Seq, Dict)) and any(whole in real(item) for item in view.run.known_items(alt)) for alt in kept)


def _problem(view: View, event: Event, site) -> str:
    clash = event.clash
    if event.subject is not None:
        layer = view.call_text(site)
        if site is event.site and isinstance(site.node, cst.Call):
            layer = site.parsed.text(site.node.func)
        return f"`{layer}` takes {clash.needed} {clash.what}, but its input has {clash.given}"
    text = view.call_text(event.site)
    if event.operation in ("view", "reshape"):
        return f"`{text}` needs {clash.needed} {clash.what}, but there are {clash.given}"
    if event.operation == "torch.cat":
        return f"`{text}` joins tensors that differ elsewhere: {clash.needed} and {clash.given} {clash.what}"
    if event.operation in _SIGNS:
        return f"`{text}` meets {clash.needed} with {clash.given} {clash.what}, which do not broadcast"
    return f"`{text}` needs {clash.needed} {clash.what} on the left, but there are {clash.given}"
