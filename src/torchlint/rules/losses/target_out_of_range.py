"""307: class numbers that the scores have no column for."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.known_labels import highest_label

CODE = 307
CALLS = frozenset({"[]="})
IGNORED = -100  # what losses on classes leave out unless `ignore_index=` says otherwise


def check(view: View) -> Iterator[Report]:
    """`cross_entropy(nn.Linear(8, 3)(x), torch.tensor([0, 3]))`."""
    for event in view.of("loss"):
        if event.loss not in ("cross_entropy", "nll_loss"):
            continue
        written = _labels(event.target)
        labels = written or _of_data(view, event.target)
        classes = _classes(event, one_each=written is None) if labels is not None else None
        if classes is None:
            continue
        ignored = _ignored(event)
        wrong = next((label for label in labels[0] if not 0 <= label < classes and label not in ignored), None)
        if wrong is None:
            continue
        roles = {"call": view.call_text(event.site), "classes": str(classes), "label": str(wrong)}
        related = [(labels[1], "the class numbers come from here")]
        yield Report(CODE, event.site, {**roles, "last": str(classes - 1)}, related)


def _classes(event: Event, one_each: bool) -> int | None:
    """The number of classes, if it is known: the last size of (classes) or (batch, classes). With more dimensions
    their order may be what is wrong, which is 308's. `one_each`: there is one class number for each sample."""
    shape, target = event.shapes
    flat = len(shape.dims) <= 2 and (one_each or not shape.open) or target.rank == 1
    if not flat or not shape.dims:
        return None
    size = shape.dims[-1]
    return size if isinstance(size, int) else None


def _ignored(event: Event) -> set[int]:
    given = event.kwargs.get("ignore_index")
    if given is None and event.subject is not None:
        given = event.subject.kwargs.get("ignore_index")
    if given is None:
        return {IGNORED}
    found = number(given)
    return set(range(-1000, 100000)) if found is None else {int(found)}


def _labels(value: Value | None):
    """Class numbers that a target holds, or may hold by chance, and where it was made; None if nothing is known."""
    alts = real(value)
    if len(alts) != 1 or not isinstance(alts[0], Tensor):
        return None
    made = alts[0]
    while made.source != "made" and _keeps(made):
        before = made.origin or made.traits.get("cut_of")
        if not isinstance(before, Tensor):
            return None
        made = before
    call = made.site.node if made.site is not None else None
    if made.source != "made" or not isinstance(call, cst.Call) or "param" in made.traits:
        return None
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if name == "tensor":
        found = [number(item) for item in made.traits.get("made_of", ())]
        return (found, made.site) if found and all(isinstance(item, int) for item in found) else None
    if name == "randint":
        bounds = [_whole(arg.value) for arg in call.args if arg.keyword is None][:2]
        named = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        if len(call.args) < 2 or not bounds or named & {"low", "high"}:
            return None
        low, high = (0, bounds[0]) if len(bounds) == 1 or bounds[1] is None else bounds
        return ([low, high - 1], made.site) if low is not None and high is not None and high > low else None
    return None


def _of_data(view: View, target: Value):
    """The highest class number of a data set that a target is of, and where that is made."""
    found = highest_label(view, target)
    return ([found[0]], found[1]) if found is not None else None


def _keeps(value: Tensor) -> bool:
    call = value.site.node if value.site is not None else None
    name = call.func.attr.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) else ""
    return name in ("to", "cuda", "long", "view", "reshape", "squeeze", "flatten", "detach", "clone")


def _whole(node: cst.BaseExpression) -> int | None:
    return int(node.value) if isinstance(node, cst.Integer) and node.value.isdigit() else None
