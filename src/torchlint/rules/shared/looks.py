"""Whether all that becomes of what a model gives is seen, and is a look: it is printed, drawn, measured, made numbers of."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import MOST, Class, Dict, Event, Instance, Iter, Opaque, Seq, Tensor, Value, real
from torchlint.rules.base import View
from torchlint.rules.shared.held_out import LOSS, is_model, trained
from torchlint.rules.shared.readouts import OF_LIKELIHOODS, came_before, comes_from, of_cut, only_measures, raises_with_graph
from torchlint.rules.shared.seen_calls import unseen

# Where a value can go to from which a graph, or what was cut off from one, comes back into a training.
_WAYS = (
    "unknown", "called", "forward", "loss", "append", "setattr", "item.set", "module.put", "augment", "inplace", "return", "save",
    "collective", "backward", "autograd.grad", "sampled",
)
_LOOKS = frozenset(
    """add_image add_images add_figure add_histogram add_scalar add_scalars add_text add_video add_audio imshow imsave imwrite image
    images make_grid plot scatter contourf matshow hist savefig show display log info debug set_postfix set_description
    to_pil_image fromarray write format join histogram""".split()
)
_TO_IMAGES = ("to_pil_image", "ToPILImage")  # no graph goes on behind them
# They ask what a tensor is like, and for none of its numbers.
_OF_THE_FORM = frozenset("size dim ndimension numel nelement stride get_device is_contiguous data_ptr element_size register_hook retain_grad backward".split())
_OF_MASKS = frozenset("masked_select masked_fill masked_fill_ masked_scatter masked_scatter_ where index_put index_put_".split())
_MOST = 60  # values that are gone back over


def is_look(event: Event) -> bool:
    """Whether a call of what cannot be seen shows or measures what it is given, as far as its name tells."""
    if event.kind != "unknown":
        return event.kind == "called" and (event.name or "").endswith(_TO_IMAGES)
    return (event.name or "").rpartition(".")[2].lower() in _LOOKS or only_measures(event) or _is_of_a_logger(event)


# What keeps numbers for somebody to look at, by what a program calls it.
_KEEPS_NUMBERS = re.compile(r"(?:logger|recorder|writer|meter|tracker)s?\d*$", re.IGNORECASE)


def _is_of_a_logger(event: Event) -> bool:
    """Whether a method is one of something that is called a logger or a meter: `self.logger.record_scalar("val", loss)`."""
    func = getattr(event.site.node, "func", None)
    return isinstance(func, cst.Attribute) and _KEEPS_NUMBERS.search(event.site.parsed.text(func.value)) is not None


def only_looked_at(view: View, event: Event) -> bool:
    """Whether all that becomes of the output is seen, and somebody looks at it."""
    looks = _looks(view, event)
    return bool(looks) and not any(other.kind == "readout" and other.name == "comparison" and _masks(other) for other in looks)


def comes_to_nothing(view: View, event: Event) -> bool:
    """Whether nothing is seen to be made of what a model gives where it evaluates, not even a number: a pass over the test data whose
    `print` is a comment by now, or one that reads only the lists that the model's forward has made of its scores."""
    if not event.loops or not isinstance(event.subject, Instance) or not trained(view, event.subject):
        return False
    if view.of("hook") or any(event.loops[-1] in step.loops for step in view.of("backward", "optimizer.step")):
        return False  # a hook may keep what is computed
    return _is_kept_under_names(event) and _looks(view, event) == []


def keeps_something(view: View, event: Event) -> bool:
    """Whether a model may keep something of its forward, for somebody who asks for it later: it sets an attribute there, or puts something
    into a list or dict that it has not made there; or its class is not seen."""
    if not isinstance(event.subject, Instance) or not isinstance(event.subject.cls, Class):
        return True
    inside = (other for other in view.of("setattr", "append", "item.set", "module.put") if event.site in other.calls)
    return any(
        other.kind in ("setattr", "module.put") or not all(isinstance(alt, Tensor) or _is_of_the_function(other, alt) for alt in real(other.subject))
        for other in inside
    )


def _statement(event: Event) -> cst.CSTNode | None:
    return next(iter(event.site.parsed.around(event.site.node)), None)


def _is_kept_under_names(event: Event) -> bool:
    """Whether a statement asks a model and gives names to what comes out, or nothing else: what is in a list is not always followed."""
    statement = _statement(event)
    if isinstance(statement, cst.Expr):
        return statement.value is event.site.node
    if not isinstance(statement, cst.Assign) or statement.value is not event.site.node:
        return False
    return not any(isinstance(node, (cst.Attribute, cst.Subscript)) for target in statement.targets for node in walk(target.target))


def _looks(view: View, event: Event) -> list[Event] | None:
    """What looks at the output of a model, or reads numbers of it; None where a graph may go anywhere else."""
    if any(_may_lack(step, event) for step in view.of("backward", "autograd.grad")):
        return None
    found = []
    for other in view.of(*_WAYS):
        if other is event or not any(_derived(view, event, value) for value in _given(other)):
            continue
        if is_look(other):
            found.append(other)
        elif not _passes_on(event, other):
            return None
    found += [
        other for other in view.of("readout")
        if other.name not in _OF_THE_FORM and any(_derived(view, event, alt) for alt in real(other.subject))
    ]
    return found


def _masks(compared: Event) -> bool:
    """Whether a comparison says which values something else goes on with: `loss.masked_select(weight > 0.5)`, `x[weight > 0.5]`."""
    for node in compared.site.parsed.around(compared.site.node):
        if isinstance(node, cst.Call):
            return isinstance(node.func, cst.Attribute) and node.func.attr.value in _OF_MASKS
        if isinstance(node, (cst.Subscript, cst.Comparison, cst.BaseSmallStatement)):
            return isinstance(node, cst.Subscript)
    return False


def _may_lack(step: Event, event: Event) -> bool:
    """Whether a forward may be missing among those that a loss came out of: they are cut at a size, layers inside of models first."""
    return len(step.flows) >= MOST and (bool(event.get("inside")) or not any(flow.get("inside") for flow in step.flows))


def only_shown_off(view: View, event: Event) -> bool:
    """Whether a forward that no training shares its loop with gives what is only looked at."""
    steps = [step for step in view.of("backward", "optimizer.step") if event.loops and event.loops[-1] in step.loops]
    return not steps and not raises_with_graph(view, event) and only_looked_at(view, event)


def beside_training(view: View, event: Event) -> bool:
    """Whether a model that a loop trains is asked there once more, apart from the step, by somebody who only looks at it."""
    steps = [step for step in view.of("backward", "autograd.grad") if event.loops and event.loops[0] in step.loops]
    if not steps or not _is_model(event.subject) or not (trained(view, event.subject) or _asked_for_gradients(view, event.subject)) or not _sets_its_mode(view, event) and any(map(_comes_from_nowhere, view.of("backward"))):
        return False
    learns = [flow for step in steps for flow in step.flows if flow.kind == "forward" and not flow.get("inside")]
    if any(flow.site == event.site for flow in learns):
        return False
    if not all(_apart(event, step) for step in (*steps, *learns)) and not _is_cut(view, event):
        return False
    return not raises_with_graph(view, event) and only_looked_at(view, event)


def _asked_for_gradients(view: View, model: Value) -> bool:
    """Whether a model is trained by gradients that are asked for, `autograd.grad(loss, policy.parameters())`, as a step by hand does."""
    return any(flow.subject is model for step in view.of("autograd.grad") for flow in step.flows if flow.kind == "forward")


def _sets_its_mode(view: View, event: Event) -> bool:
    """Whether a function that goes backward through nothing puts the model in evaluation mode itself: what is asked then is no loss of
    the training, whatever that is made of."""
    mode, unit = event.mode_site, event.site.parsed.unit
    itself = event.mode is False and mode is not None and mode.parsed.unit is unit and mode.location().row < event.site.location().row
    if not itself or unit.name == "<module>" or unit.words & {"backward", "autograd"}:
        return False
    return not any(step.site.parsed.unit is unit for step in view.of("backward", "autograd.grad", "optimizer.step"))


def _comes_from_nowhere(step: Event) -> bool:
    """Whether a loss goes backward of which no forward is seen, and that was not made as a number either: `loss = torch.tensor(0.0)`, which
    goes backward as it is where none of the conditions that add to it holds."""
    alts = real(step.subject)
    return not step.flows and not (alts and all(map(_is_made, alts)))


def _is_made(value: Value) -> bool:
    for _ in range(_MOST):
        if not isinstance(value, Tensor) or "made" in value.traits:
            break
        value = value.origin
    return isinstance(value, Tensor) and "made" in value.traits


def is_cut_by_hand(view: View, event: Event) -> bool:
    """Whether the program takes the graph off what somebody only looks at: where gradients were off, there would be none."""
    if event.site.parsed.unit.name == "<module>" and not _stays_behind_training(view, event) or _before_it_learns(view, event):
        return False  # the last lines of a script: a plot, whose graph goes at once, and it ends
    return _is_cut(view, event) and not raises_with_graph(view, event) and only_looked_at(view, event)


def _is_cut(view: View, event: Event) -> bool:
    """Whether the program takes the graph off an output before it looks at it: `predicted.detach().numpy()`."""
    shown = [value for other in view.of("readout", "unknown") if other.kind == "readout" or is_look(other) for value in (other.subject, *other.get("args", ()))]
    tensors = (alt for value in shown for alt in real(value) if _cut(alt) and alt.source != "item")
    return any(comes_from(event, alt) or of_cut(event, alt) for alt in tensors)


def _before_it_learns(view: View, event: Event) -> bool:
    """Whether a model that is trained in this run is asked before, as it was made."""
    steps = [step for step in view.of("backward") if any(flow.subject is event.subject for flow in step.flows)]
    loaded = any(other.serial < event.serial for other in view.of("load"))
    return bool(steps) and all(step.serial > event.serial for step in steps) and not loaded


def _stays_behind_training(view: View, event: Event) -> bool:
    """Whether the body of a file asks a model behind all training, and gives a name to what comes out as it is: the graph stays
    with the name for as long as the program runs."""
    steps = view.of("backward")
    over = all(step.serial < event.serial and not set(step.loops) & set(event.loops) for step in steps)
    return over and trained(view, event.subject) and isinstance(_statement(event), cst.Assign) and _is_kept_under_names(event)


def _is_model(value: Value) -> bool:
    """Whether it is one for certain: what comes from a file that is not there is a function more often than a model."""
    return is_model(value) and not (type(value) is Opaque and value.source == "global" and "module" not in value.tags)


def _apart(event: Event, other: Event) -> bool:
    """Whether a forward is not in the same stretch as what belongs to a step: it is in another function, or stands under a condition."""
    if event.site.parsed.unit is not other.site.parsed.unit:
        return True
    return any(guard not in other.guards for guard in event.guards) or event.loops != other.loops


def _given(event: Event) -> Iterator[Value]:
    """What an event does something with."""
    if event.kind in ("setattr", "append", "item.set", "module.put", "augment", "inplace"):
        values = [event.get("value")]
    elif event.kind in ("return", "backward", "autograd.grad", "collective", "sampled", "save"):
        values = [event.subject, *event.get("args", ())] if not (event.kind == "return" and event.calls) else []
    else:
        values = [*event.get("args", ()), *(event.get("kwargs") or {}).values()]
        if event.kind == "unknown" and unseen(event):
            values.append(event.subject)
    yield from (value for value in values if isinstance(value, Value))


def _passes_on(event: Event, other: Event) -> bool:
    """Whether what is made of the output is followed further: by a tensor's own method, a loss, another model that is given it with its
    graph."""
    if other.kind == "sampled" or other.kind == "unknown" and _is_of_a_distribution(other):
        return not other.site.parsed.unit.words & OF_LIKELIHOODS  # no gradient goes through a draw
    if other.kind == "unknown":
        return not unseen(other)
    if other.kind == "augment":
        return isinstance(other.target, cst.Name)  # `total += loss`, in the function: what becomes of the sum is followed
    if other.kind in ("append", "item.set"):
        return all(_is_of_the_function(other, alt) for alt in real(other.subject))
    if other.kind == "loss" or other.kind == "forward" and other.get("inside"):
        return True
    if other.kind in ("forward", "called"):
        if LOSS.search(getattr(other.subject, "name", "") or ""):
            return True
        if other.site.parsed is event.site.parsed and (other.subject is event.subject or other.site == event.site):
            return True  # its own state, that it, or a layer that it calls, is given again in the next turn
        return all(comes_from(event, alt) and not _cut(alt) for value in other.args for alt in real(value) if _is_tensor(alt))
    return False


def _is_of_a_distribution(event: Event) -> bool:
    """Whether a call makes a distribution of something, or asks one for a sample."""
    made = [event.name or "", *(getattr(alt, "name", "") or "" for alt in real(event.subject) if event.name == "sample")]
    return any(name.startswith("torch.distributions.") for name in made)


def _is_of_the_function(event: Event, kept_in: Value) -> bool:
    """Whether a list or dict was made in the function that something is put into it: what becomes of it is followed."""
    made = kept_in.site if isinstance(kept_in, (Seq, Dict)) else None
    unit = event.site.parsed.unit
    return made is not None and made.parsed.unit is unit and unit.name != "<module>"


def _is_tensor(value: Value) -> bool:
    return isinstance(value, Tensor)


def _cut(value: Value) -> bool:
    return isinstance(value, Tensor) and value.traits.get("graph") is False


def _derived(view: View, event: Event, value: Value | None, depth: int = 0) -> bool:
    """Whether a value is computed from the output, or from what was cut off from it, and is no number yet."""
    for alt in real(value):
        if isinstance(alt, (Seq, Dict)):
            if depth < 3 and any(_derived(view, event, item, depth + 1) for item in view.run.known_items(alt) if item is not alt):
                return True
        elif isinstance(alt, Iter):
            if depth < 3 and _derived(view, event, alt.base, depth + 1):
                return True
        elif _is_image(alt):
            continue
        elif comes_from(event, alt) or any(_cut(part) and comes_from(event, part) for part in _made_from(alt)):
            return True
    return False


def _is_image(value: Value) -> bool:
    """Whether a value is an image of Pillow's that torchvision has made, or one that a method of it gave: `to_pil(x).convert("RGB")`."""
    for _ in range(_MOST):
        if type(value) is not Opaque:
            return False
        if (value.name or "").endswith(_TO_IMAGES):
            return True
        value = value.origin
    return False


def _made_from(value: Value) -> Iterator[Value]:
    """What a value was computed from, up to where it left torch: numbers have no graph, and give none."""
    seen, waiting = {id(value)}, [value]
    while waiting and len(seen) < _MOST:
        part = waiting.pop()
        if isinstance(part, Opaque) and part.tags & {"number", "numbers"}:
            continue
        yield part
        for alt in came_before(part):
            if id(alt) not in seen:
                seen.add(id(alt))
                waiting.append(alt)
