"""117: between the model and the backward, the graph is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from torchlint.catalogue.effects import KEEPS
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.cut_terms import cut_terms

CODE = 117
# Steps: their derivative is zero wherever it exists.
_FLAT = frozenset({"round", "floor", "ceil", "trunc", "sign"})
_OF_WHOLE_NUMBERS = frozenset({"argmax", "argmin", "long", "eq"})  # methods that no output of a model gives with a graph


def check(view: View) -> Iterator[Report]:
    """A loss made anew from numbers, or computed from class numbers, rounded or detached outputs alone, or one term of it; a
    forward that sends what a part of the model computes through NumPy."""
    yield from cut_terms(view, CODE)
    for backward in view.of("backward"):
        yield from _backward(view, backward)
    for loss in view.of("loss"):
        yield from _flat(view, loss)
    root = view.run.root
    if root is not None and root.name == "forward" and isinstance(root.home, Class):
        yield from _through_numpy(view)


def _backward(view: View, backward: Event) -> Iterator[Report]:
    alts = real(backward.subject)
    if not alts or backward.grad_on is False:
        return
    sources = []
    for alt in alts:
        leaf = _leaf_of(alt)
        source = _cut(leaf) if leaf is not None else None
        source = source or _cut_loss(view, alt)
        if source is None:
            return
        sources.append((leaf or alt, source))
    alt, source = sources[0]
    loss = view.owner_text(backward, "loss")
    roles = {"loss": loss, "call": view.call_text(backward.site)}
    related = []
    place = alt.site if _is_new_leaf(alt) else source.site
    if place is not None and place.node is not backward.site.node:
        words = "a new tensor: only the number is taken over" if _is_new_leaf(alt) else "the graph ends here"
        related.append((place, words))
    recorded = _with_graph(source.origin)
    model = next((event for event in view.of("forward") if event in recorded), None)
    if model is not None:
        related.append((model.site, "no gradient comes back to this"))
    yield Report(CODE, backward.site, roles, related)


def _is_new_leaf(value: Value) -> bool:
    return (
        isinstance(value, Tensor)
        and value.source == "made"
        and bool(value.traits.get("leaf"))
        and not value.traits.get("param")
    )


def _leaf_of(value: Value) -> Value | None:
    """The new leaf that a value is, or that it was computed from alone: `torch.tensor(losses, requires_grad=True).mean()`."""
    if _is_new_leaf(value):
        return value
    if not isinstance(value, Tensor) or value.flows:
        return None
    leaves = [part for part in value.parts if isinstance(part, Tensor) and (part.traits.get("leaf") or part.traits.get("param"))]
    return leaves[0] if len(leaves) == 1 and _is_new_leaf(leaves[0]) else None


class _Cut:
    """Where a graph ends, and the value that still had one."""

    __slots__ = ("origin", "site")

    def __init__(self, site, origin: Value):
        self.site, self.origin = site, origin


def _cut(value: Value | None, depth: int = 0) -> _Cut | None:
    """What a value without a graph was taken from, if that had one."""
    for alt in real(value) if depth < 8 else ():
        if not isinstance(alt, Opaque):
            continue
        found = _cut_in_list(alt, depth)
        if found is not None:
            return found
        before = alt.origin
        if isinstance(alt, Tensor):
            before = alt.traits.get("detached") or alt.traits.get("alias") or alt.traits.get("cut_of") or before
        if not isinstance(before, Value):
            continue
        if isinstance(before, Opaque) and _with_graph(before) and _ends_graph(alt):
            return _Cut(alt.site, before)
        found = _cut(before, depth + 1)
        if found is not None:
            return found
    return None


def _cut_in_list(value: Opaque, depth: int) -> _Cut | None:
    """The same of a tensor that is made of a list of losses, or of their numbers, and of a sum of numbers."""
    items: Iterable[Value] = ()
    if isinstance(value, Tensor) and value.source == "made" and isinstance(value.origin, Seq):
        items = value.traits.get("made_of", ())
    elif not isinstance(value, Tensor) and value.origin is None and not value.flows:
        items = [part for part in value.parts if isinstance(part, Opaque) and "number" in part.tags]
    for item in items:
        if isinstance(item, Opaque) and isinstance(value, Tensor) and _with_graph(item):
            return _Cut(value.site, item)
        found = _cut(item, depth + 1)
        if found is not None:
            return found
    return None


def _ends_graph(value: Opaque) -> bool:
    if isinstance(value, Tensor):
        return value.traits.get("graph") is False or value.source == "made"
    return "number" in value.tags or value.source == "call" and value.name in _OF_WHOLE_NUMBERS


def _with_graph(value: Value) -> list[Event]:
    """The forwards that recorded a graph that a value came out of."""
    if isinstance(value, Tensor) and value.traits.get("graph") is False:
        return []
    found = [event for event in value.flows if event.kind == "forward" and event.get("grad") is True]
    return sorted(found, key=lambda event: event.serial)


def _cut_loss(view: View, loss: Value) -> _Cut | None:
    """The cut before a loss of torch's own function, if nothing else that it was computed from can have a graph."""
    while isinstance(loss, Tensor) and loss.traits.get("leaf") and isinstance(loss.origin, Tensor):
        loss = loss.origin  # loss.requires_grad = True: backward runs then, and comes to nothing
    if not isinstance(loss, Tensor) or "loss" not in loss.traits or loss.site is None:
        return None
    for event in view.of("loss"):
        if event.site != loss.site or event.grad_on is not True:
            continue
        # (It does not matter which of the two comes first: some loss functions do not mind.)
        for given, other in ((event.input, event.target), (event.target, event.input)):
            inputs, target = real(given), real(other)
            if len(inputs) != 1 or not isinstance(inputs[0], Opaque) or _live(inputs[0]):
                continue
            found = _cut(inputs[0])
            if found is not None and target and all(isinstance(alt, Opaque) and _data(alt) for alt in target):
                return found
        return None
    return None


def _live(value: Opaque) -> bool:
    """Whether a value may have a graph."""
    if isinstance(value, Tensor) and value.traits.get("graph") is False:
        return False
    if value.flows or _leaf(value):
        return True
    made_of, before = [], value.origin  # one after the other: `output.argmax(1).float()`
    while isinstance(before, Opaque) and len(made_of) < 8:
        made_of.append(before)
        before = before.origin
    return any(part not in made_of for part in value.parts)


def _data(value: Opaque) -> bool:
    """Whether a target was computed from a batch alone."""
    if isinstance(value, Tensor) and value.traits.get("graph") is False:
        return True
    return not value.flows and not _leaf(value) and not any(
        isinstance(part, Opaque) and (part.flows or _leaf(part)) for part in value.parts
    )


def _leaf(value: Opaque) -> bool:
    return isinstance(value, Tensor) and bool(
        value.traits.get("leaf") or value.traits.get("param") or value.traits.get("graph")
    )


# -- steps -----------------------------------------------------------------------------------------------------------


def _flat(view: View, loss: Event) -> Iterator[Report]:
    """cross_entropy(torch.round(output), target): a gradient, but of zeros."""
    values = real(loss.input)
    value = values[0] if len(values) == 1 else None
    while isinstance(value, Tensor) and _name(value) in KEEPS and isinstance(value.origin, Tensor):
        value = value.origin
    if (
        not isinstance(value, Tensor)
        or _name(value) not in _FLAT
        or value.traits.get("graph") is False
        or loss.grad_on is not True
    ):
        return
    if not _with_graph(value) or any(alt.flows or alt.parts for alt in real(loss.target)):
        return
    for backward in view.of("backward"):
        made = [
            part
            for part in (*real(backward.subject), *backward.parts)
            if isinstance(part, Tensor) and part.site == loss.site
        ]
        if made and not [event for event in backward.flows if event.kind == "forward" and event not in value.flows]:
            roles = {"loss": view.owner_text(backward, "loss"), "call": view.call_text(backward.site)}
            yield Report(
                CODE, backward.site, roles, [(value.site, "flat between its steps: the gradient is zero from here on")]
            )
            return


def _name(value: Tensor) -> str:
    """The last part of the name of the function whose result a value is."""
    func = value.site.node.func if value.site is not None and isinstance(value.site.node, cst.Call) else None
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


# -- forward -----------------------------------------------------------------------------------------------------------


def _through_numpy(view: View) -> Iterator[Report]:
    """forward returns something computed from `torch.tensor(self.part(x).detach().numpy())`."""
    for event in view.of("return"):
        if event.guards:
            return
        for alt in real(event.subject):
            for part in (alt, *alt.parts):
                maker = _rewrapped(part)
                if maker is None or part.site is None:
                    continue
                lost = [one for one in view.of("forward") if one in maker and one not in alt.flows]
                if lost and not event.get("guards"):
                    part_text = view.owner_text(lost[-1], "part")
                    roles = {"loss": part_text, "call": view.call_text(part.site)}
                    yield Report(CODE, part.site, roles, [(lost[-1].site, "no gradient comes back to this")])
                    return


def _rewrapped(value: Value) -> list[Event] | None:
    """The calls of parts of the model whose results, as NumPy arrays or numbers, a tensor is made of."""
    if (
        not isinstance(value, Tensor)
        or value.source != "made"
        or value.traits.get("made") not in ("tensor", "from_numpy", "as_tensor", "FloatTensor", "Tensor")
    ):
        return None
    found: list[Event] = []
    for item in value.traits.get("made_of", ()):
        inner = item
        seen = 0
        while isinstance(inner, Opaque) and "number" in inner.tags and seen < 4:
            inner, seen = inner.origin, seen + 1
        if inner is item or not isinstance(inner, Opaque):
            return None
        while isinstance(inner, Tensor) and isinstance(inner.traits.get("detached"), Opaque):
            inner = inner.traits["detached"]
        events = [
            event
            for event in inner.flows
            if event.kind == "forward"
            and event.get("grad") is True
            and isinstance(event.subject, Instance)
            and isinstance(event.subject.cls, Class)
        ]
        if not events:
            return None
        found += events
    return found or None
