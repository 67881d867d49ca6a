"""416: a tensor that needs gradients, or lies on a GPU, is turned into an ndarray."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from torchlint.catalogue.array_reads import OF_LISTS, OF_TENSORS, PLOTS
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Event, Opaque, Seq, Tensor, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.arithmetic_on_losses import computed_from
from torchlint.rules.shared.blocks import conditions_of
from torchlint.rules.shared.devices import OF_GPUS, on_gpu, placed_at
from torchlint.rules.shared.outputs import output_on_gpu

CODE = 416
_DEEPEST = 2
_PLAIN = frozenset({"float", "int", "bool", "complex", "object", "float32", "float64"})  # types of arrays without fields
_FIRST_TENSOR_NORM = (1, 5)  # what clip_grad_norm_ gives
_PYPLOT = "matplotlib.pyplot."
# What pyplot gives that is axes, or that has them in it or makes them.
_AXES = frozenset({"subplots", "subplot", "subplot_mosaic", "axes", "gca", "figure", "gcf", "twinx", "twiny"})

# A function that asks what it was given goes the one way or the other.
ASKS = frozenset({"requires_grad", "is_cuda", "grad_fn", "is_leaf"})
_OF_PARAMETERS = re.compile(r"\.(?:named_)?parameters\(")


class _Refusal(NamedTuple):
    """Why a tensor can become no ndarray, what mends that, and where it came about."""

    why: str
    mend: str
    site: Site | None
    words: str


def check(view: View) -> Iterator[Report]:
    """`model(x).numpy()` where autograd records, `np.mean(losses)`, `accuracy_score(y.cuda(), ...)`."""
    told = set()
    for event in view.of("readout", "unknown"):
        if event.site in told:
            continue
        for place, value in _given(event):
            report = _whole(view, event, place, value) or _listed(view, event, value)
            if report is not None and not _asks(event.site.parsed):
                told.add(event.site)
                yield report
                break


def _asks(parsed: Parsed) -> bool:
    """Whether a function reads one of these of something. What is set is not asked, nor is a parameter that a loop counts or chooses by:
    `[p for p in model.parameters() if p.requires_grad]`."""
    if not parsed.unit.words & ASKS:
        return False
    nodes = list(walk(parsed.module))
    loops = [node for node in nodes if isinstance(node, cst.For | cst.CompFor) and _OF_PARAMETERS.search(parsed.text(node.iter))]
    parameters = {part.value for loop in loops for part in walk(loop.target) if isinstance(part, cst.Name)}
    set_here = {id(target.target) for node in nodes if isinstance(node, cst.Assign) for target in node.targets}
    return any(
        isinstance(node, cst.Attribute) and node.attr.value in ASKS and id(node) not in set_here
        and not (isinstance(node.value, cst.Name) and node.value.value in parameters)
        for node in nodes
    )


def _given(event: Event) -> Iterator[tuple[int, Value]]:
    """What an array is made of, with its place among the arguments."""
    if event.kind == "unknown":
        yield from enumerate(event.args) if _reader(event) in OF_LISTS else ()
    elif event.name == "numpy" or event.name in OF_LISTS:
        yield event.get("place", 0), event.subject


def _reader(event: Event) -> str:
    """What reads: a method of axes, `ax.plot`, by the name of pyplot's function that does the same."""
    name: str = event.name
    return _PYPLOT + name if event.kind == "unknown" and name in PLOTS and _of_axes(event.subject) else name


def _of_axes(value: Value | None) -> bool:
    """Whether a value is what pyplot gives, or a part of that: `fig, ax = plt.subplots()`, `plt.figure().add_subplot()`, `axes[0]`."""
    while isinstance(value, Opaque) and value.origin is not None:
        value = value.origin
    if not isinstance(value, Opaque) or value.source != "call":
        return False
    return value.name.startswith(_PYPLOT) and value.name.removeprefix(_PYPLOT) in _AXES


def _whole(view: View, event: Event, place: int, value: Value) -> Report | None:
    """Of a tensor that is read, or handed over."""
    alts = real(value)
    if event.name != "numpy" and _reader(event) not in OF_TENSORS or _kept(event) or _forced(event):
        return None
    found = _refused(view, event, alts)
    if found is None:
        return None
    name = _name(view, event, place)
    related = [(found.site, found.words)] if found.site is not None and found.site.node is not event.site.node else []
    mend = f"{name}.{found.mend}" if name else f".{found.mend}"
    roles = {"call": view.call_text(event.site), "value": name or "the tensor", "why": found.why, "mend": mend}
    return Report(CODE, event.site, roles, related)


def _listed(view: View, event: Event, value: Value) -> Report | None:
    """`np.mean(losses)` and `plt.plot(losses)`, of losses that were put into a list as they were."""
    found = next(_refused_in(view, event, value), None) if _reader(event) in OF_LISTS and not _of_fields(event) else None
    if found is None:
        return None
    item, refusal = found
    words = "this is in it, with its graph" if refusal.mend == "detach()" else "this is in it"
    because = [(item.site, words)] if item.site is not None else []
    name = item.name if item.source != "attr" and item.name.isidentifier() else ""
    mend = f"{name}.{refusal.mend}" if name else f".{refusal.mend}"
    roles = {"call": view.call_text(event.site), "value": name or "a tensor in it", "why": refusal.why, "mend": mend}
    return Report(CODE, event.site, roles, because)


def _of_fields(event: Event) -> bool:
    """Whether an array has, or may have, fields, `dtype=[("x", "f4")]`: each of them asks what it is given for a number."""
    args = getattr(event.site.node, "args", ())
    types = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "dtype"]
    return any(isinstance(one, cst.List) or isinstance(one, cst.Name) and one.value not in _PLAIN for one in types)


def _refused_in(view: View, event: Event, value: Value, depth: int = 0) -> Iterator[tuple[Opaque, _Refusal]]:
    """The tensors in a list, once it is read, of which none can become an ndarray for certain."""
    lists = real(value)
    if len(lists) != 1 or not isinstance(lists[0], Seq) or depth > _DEEPEST:
        return
    for item in view.run.known_items(lists[0]):
        alts = [alt for alt in real(item) if number(alt) is None]  # what a sum was before its loop
        before = all(isinstance(alt, Opaque) and alt.serial < event.serial for alt in alts)
        refusal = _refused(view, event, alts) if before else None
        if refusal is not None:
            yield alts[0], refusal
        else:
            yield from _refused_in(view, event, item, depth + 1)


def _refused(view: View, event: Event, alts: Sequence[Value]) -> _Refusal | None:
    """Why no one of several alternatives can become an ndarray."""
    if not alts:
        return None
    if _records(view, event) and all(isinstance(alt, Tensor) and _needs_grad(view, alt) for alt in alts) or all(_went_backward(view, event, alt) for alt in alts):
        site = alts[0].sites.get("graph") if isinstance(alts[0], Tensor) else None
        return _Refusal("it needs gradients", "detach()", site, "its graph begins here")
    if all(on_gpu(placed_at(view, alt)[0]) and not _was_a_number(event, alt) and not _is_a_number(view, alt) for alt in alts) and not _comes_back(view, event):
        return _Refusal("it is on the GPU", "cpu()", placed_at(view, alts[0])[1], "it is put there here")
    given = [output_on_gpu(view, event, alt) for alt in alts]
    if given[0] is not None and None not in given and not any(_was_a_number(event, alt) for alt in alts) and not _comes_back(view, event):
        return _Refusal("it is on the GPU", "cpu()", given[0], "what it comes out of is put there here")
    return None


def _comes_back(view: View, event: Event) -> bool:
    """Whether what is read is brought back wherever there is a GPU, `if use_gpu: x = x.cpu()`: where there is none, it was never put on one."""
    for other in view.of(event.kind):
        if other.site == event.site:
            back = [site for device, site in (placed_at(view, alt) for alt in real(other.subject)) if device == "cpu" and site is not None]
            if any(OF_GPUS.search(condition) for site in back for condition, holds in conditions_of(site) if holds):
                return True
    return False


def _was_a_number(event: Event, value: Value) -> bool:
    """Whether a value is a part of a tensor's data, as numbers were read before torch 0.4, `label.data[0]`: what is wrong with that
    is something else. Who asks it for its array takes it for no number."""
    if event.name == "numpy" or not isinstance(value, Tensor) or value.traits.get("alias") is None or not isinstance(value.origin, Tensor):
        return False
    return value.origin.site is not None and value.origin.site == value.site  # `.data` says where it stands, its part does not


def _is_a_number(view: View, value: Value) -> bool:
    """Whether it is a norm of gradients, on a torch that gives it as a number of Python's."""
    return isinstance(value, Tensor) and "norm" in value.traits and not view.admits(_FIRST_TENSOR_NORM)


def _went_backward(view: View, event: Event, value: Value) -> bool:
    """Whether a value has a graph since backward was called on it, which raises without one, or on what it is computed from: a sum of losses."""
    if not isinstance(value, Opaque) or not value.flows or isinstance(value, Tensor) and value.traits.get("graph") is False:
        return False
    summed = isinstance(value, Tensor) and value.source == "op"
    return any(
        other.serial < event.serial and other.framework is None
        and any(value is loss or summed and type(loss) is Tensor and loss.traits.get("graph") is not False and computed_from(value, loss)
                for loss in real(other.subject))
        for other in view.of("backward")
    )


def _records(view: View, event: Event) -> bool:
    """Whether autograd records for certain where a value is read: callers of a module's method may have switched it off."""
    return event.grad_on is True and not any(context.kind == "unknown" for context in event.contexts) and not _in_module(view)


def _in_module(view: View) -> bool:
    """Whether a run begins in a method of a module, so that its callers, and their grad mode, are not seen."""
    root = view.run.root
    return root is not None and root.home is not None and "torch.nn.Module" in root.home.externals()


def _kept(event: Event) -> bool:
    """Whether what is read was put on an object, by whichever forward came last: `model.layer.embedding.numpy()`."""
    node = event.site.node
    read = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    return event.name == "numpy" and isinstance(read, cst.Attribute) and read.attr.value not in ("data", "T")


def _forced(event: Event) -> bool:
    """Whether `numpy` detaches and moves what it is asked of: `x.numpy(force=True)`, or by a switch that is not known."""
    node = event.site.node
    args = node.args if event.name == "numpy" and isinstance(node, cst.Call) else ()
    forced = next((arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "force"), None)
    return forced is not None and not (isinstance(forced, cst.Name) and forced.value == "False")


def _needs_grad(view: View, value: Tensor) -> bool:
    """Whether a tensor has a graph for certain: computed by a layer with autograd on, or a leaf that asks for one."""
    if value.traits.get("graph") is not True or value.traits.get("param"):
        return False
    if value.flows:
        forwards = [flow for flow in value.flows if flow.kind == "forward"]
        frozen = {id(getattr(event.subject, "origin", None)) for event in view.of("inplace.flag", "flag.set")}
        return all(
            flow.get("grad") is True and flow.get("frozen") is None and id(flow.subject) not in frozen
            for flow in forwards
        )
    return bool(value.traits.get("leaf"))


def _name(view: View, event: Event, place: int) -> str:
    """What the tensor is called where it is read; "" where that is long, or it is one of several."""
    if event.name == "numpy":
        return view.owner_text(event, "")
    args = getattr(event.site.node, "args", ())
    given = args[place].value if place < len(args) and not any(arg.star for arg in args) else None
    plain = isinstance(given, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
    text = event.site.parsed.text(given) if plain else ""
    return text if len(text) <= 40 and "\n" not in text else ""
