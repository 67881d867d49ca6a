"""101: weights that are updated by hand with gradients that nobody clears, gradients that are cleared where they were handed to, not
where they are made, and those that a generator's loss leaves in its discriminator. (Steps of an optimizer are told by the page's order.)"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import after, common_loop
from torchlint.dryrun.values import Event, Instance, Iter, Loop, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.handed_gradients import MAY_CLEAR, added_up
from torchlint.rules.shared.left_by_generator import left_by_generator
from torchlint.rules.shared.readouts import made_from

CODE = 101
_WORDS = (
    "`{loss}.backward()` adds to the gradient that `{name}` was last updated with: nothing clears it in between",
    "clear it behind each update: `{name}.grad = None`",
)
# Methods that begin a gradient anew, or a tensor that has none yet.
_BEGINS = frozenset({"detach_", "requires_grad_", "fill_", "copy_"})


def check(view: View) -> Iterator[Report]:
    """`w.data.sub_(lr * w.grad)`, `w -= lr * w.grad`, `w.data = w.data - lr * w.grad` in a loop that goes backward again."""
    yield from added_up(view, CODE)
    yield from left_by_generator(view, CODE)
    backwards = view.of("backward")
    if not backwards or not view.of("augment", "inplace", "assign"):
        return
    stepped = bool(view.of("optimizer.step"))
    told: set[Event] = set()
    for event in view.of("augment", "inplace", "assign"):
        weights = _updated(event) if event.loops and "grad" in event.site.parsed.facts.words else ()
        if stepped and not all(_of_nobody(view, weight) for weight in weights):
            continue
        again = [backward for backward in backwards if weights and all(_reaches(view, backward, weight) for weight in weights)]
        for found, loop in _next_ones(view, event, again, weights):
            if found in told:
                continue
            told.add(found)
            roles = {"loss": view.loss_text(found), "name": _name_of(event)}
            yield Report(CODE, found.site, roles, [(event.site, "the update that used the gradient before")], words=_WORDS)


def _updated(event: Event) -> tuple[Value, ...]:
    """The weights that an event changes by what it computes from their own gradients."""
    target = event.get("target")
    if event.kind == "assign" and not (isinstance(target, cst.Attribute) and target.attr.value == "data"):
        return ()
    value = event.get("value") if event.kind != "assign" else event.subject
    made = [part for alt in real(value) for part in (alt, *made_from(alt)) if isinstance(part, Tensor)]
    made += [cut for part in made for cut in real(part.traits.get("cut_of")) if isinstance(cut, Tensor)]  # `grad.sign()`
    weights = {id(leaf): leaf for part in made for leaf in real(part.traits.get("grad_of"))}
    if event.kind == "assign":
        held = {id(part) for part in made}
        return tuple(leaf for key, leaf in weights.items() if key in held)
    changed = {id(part) for alt in real(event.subject) for part in _below(alt)}
    return tuple(leaf for key, leaf in weights.items() if key in changed)


def _of_nobody(view: View, weight: Value) -> bool:
    """Whether a leaf is one that the program has made for itself, as an attack makes its noise: no model, optimizer or call holds it."""
    own = isinstance(weight, Tensor) and ("made" in weight.traits or weight.name == "clone") and not weight.traits.get("param")
    ids = {id(part) for part in (*_below(weight), *_below(weight.origin))} if own else set()
    handed = (value for event in view.of("unknown", "called") for value in event.get("args", ()))
    if not own or ids & view.run.escaped or any(id(alt) in ids for value in handed for alt in real(value)):
        return False
    return not any(part is weight for optimizer in view.optimizers() for part in view.held_by(optimizer)[1])


def _below(value: Value | None) -> Iterator[Value]:
    """A tensor, and what it shares its numbers with: `w` of `w.data`."""
    for _ in range(4):
        if value is None:
            return
        yield value
        value = value.traits.get("alias") if isinstance(value, Tensor) else None


def _reaches(view: View, backward: Event, weight: Value) -> bool:
    """Whether a backward fills the gradient of a weight, for certain."""
    if any(alt is weight for part in backward.parts for alt in real(part)):
        return True
    owner = weight.origin if isinstance(weight, Tensor) else None
    owner = owner.base if isinstance(owner, Iter) else owner
    return isinstance(owner, Instance) and any(
        view.related_modules(flow.subject, owner) for flow in backward.flows if flow.kind == "forward"
    )


def _next_ones(view: View, event: Event, again: list[Event], weights: tuple[Value, ...]) -> Iterator[tuple[Event, Loop]]:
    """The backwards that come next after an update, where on no path to them, nor from them to the next update, a gradient is cleared."""
    shared = [loop for loop in (common_loop(event, backward) for backward in again) if loop is not None]
    loop = max(shared, key=event.loops.index, default=None)
    if loop is None or loop.once or any(loop in view.run.made_in.get(id(weight), ()) for weight in weights):
        return
    targets, alone = set(again), all(_of_nobody(view, weight) for weight in weights)
    found, _ = after(event, lambda other: other in targets or _may_clear(other, event, weights, alone), loop)
    if not found or not all(other in targets for other in found):
        return
    onward, _ = after(found[0], lambda other: other.site == event.site or _may_clear(other, event, weights, alone), loop)
    if onward and all(other.site == event.site for other in onward):
        for backward in found:
            yield backward, loop


def _may_clear(other: Event, event: Event, weights: tuple[Value, ...], alone: bool) -> bool:
    """Whether something may clear a gradient, or put a new weight in the place of the old. In doubt, it may; but where nobody else has the
    weights, what was computed from them leads nobody to their gradients."""
    if other.kind in ("optimizer.zero_grad", "optimizer.create") and alone:
        return any(alt in weights for alt in real(other.subject))
    if other.kind in ("optimizer.zero_grad", "grad.set", "optimizer.create"):
        return not all(isinstance(alt, Tensor) and alt.source == "made" and alt not in weights for alt in real(other.subject))
    if other.kind == "method":
        return other.get("name") in _BEGINS
    if other.kind in ("unknown", "called"):
        return bool(MAY_CLEAR.search(other.get("name") or "")) or any(
            alt in weights or not alone and (isinstance(alt, Instance) or alt.parts)
            for value in (other.subject, *other.get("args", ())) for alt in real(value)
        )
    if other.kind == "assign" and other.site != event.site:
        return other.site.parsed.text(other.get("target")) == _name_of(event)
    return False


def _name_of(event: Event) -> str:
    """What the program calls a weight: `w` of `w.data.sub_(...)`, of `w -= ...` and of `w.data = ...`."""
    node = event.site.node
    if event.kind == "inplace":
        node = getattr(getattr(node, "func", None), "value", node)
    else:
        node = event.get("target")
    if isinstance(node, cst.Attribute) and node.attr.value == "data":
        node = node.value
    text = event.site.parsed.text(node)
    return text if len(text) < 40 else "weight"
