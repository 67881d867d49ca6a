"""One part of a batch is moved to the device, and another part, which meets it there, is not."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.effects import KEEPS
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Const, Event, Instance, Opaque, Tensor, Value, alternatives, real
from torchlint.rules.base import View

_BATCH = frozenset({"batch", "batch?"})
_DTYPE = re.compile(r"torch\.(?!device\b)\w+$|dtype\s*=")
_CPU = re.compile(r"[\"']cpu[\"']")
_OF_THE_CPU = re.compile(r"\.type\([\"']?torch\.(?!cuda)\w*Tensor[\"']?\)$")
_GPU = re.compile(r"cuda|gpu|\bmps\b|\bxpu\b|\bnpu\b|\bxla\b|\bhpu\b", re.IGNORECASE)
_MOST = 12
_STAY = KEEPS | {"long", "int", "bool"}
# Their targets may stay on the CPU: cuDNN wants them there.
_TARGET_ANYWHERE = frozenset({"ctc_loss"})


def target_left_behind(view: View, event: Event) -> Site | None:
    """Where the model's input is moved, if the target of a loss is another part of the same batch that is not."""
    wholes = _left(event.target)
    if not wholes or event.loss in _TARGET_ANYWHERE or not all(_stays(alt) for alt in real(event.input)):
        return None
    sites = (_moved_for(view, forward, wholes) for forward in _forwards(event.input) if not _brought_back(forward, event))
    return next((site for site in sites if site is not None), None)


def _moved_for(view: View, forward: Event, wholes: list[Value]) -> Site | None:
    """Where another part of the same batches is moved for a model."""
    for given in (*(forward.get("args") or ()), *(forward.get("kwargs") or {}).values()):
        for alt in real(given):
            site = moved(alt)
            if site is not None and _whole(alt) in wholes and from_cpu(view, _whole(alt)) and _has_gpu(site):
                return site
    return None


def operand_left_behind(view: View, event: Event) -> tuple[Value, Site] | None:
    """What of an operation is a part of a batch that stays on the CPU, and where another part is moved for the model whose output it
    meets: in a loss of the program's own, `(output * target).sum()`."""
    if event.chosen:
        return None
    for value in event.values:
        wholes = _left(value) if not isinstance(value, Tensor) and all(_is_tensor(alt) for alt in real(value)) else []
        for other in event.values if wholes else ():
            known = other.traits if isinstance(other, Tensor) and "device" not in other.traits else {}
            forward = known.get("out_of") or known.get("beside")
            site = _moved_for(view, forward, wholes) if forward is not None and not _brought_back(forward, event) else None
            if site is not None:
                return value, site
    return None


def indexed_left_behind(view: View, event: Event) -> Site | None:
    """Of a part of a batch that stays on the CPU and is indexed by places that another part gave, such as the order that sorts it: where that
    one is moved. Places on a GPU take nothing out of a tensor on the CPU."""
    wholes = _left(event.subject) if type(event.subject) is Opaque and _is_tensor(event.subject) else []
    if not wholes or not all(isinstance(whole, Opaque) and from_cpu(view, whole) for whole in wholes):
        return None
    for value in event.values if _by_what_was_unpacked(event.site) else ():
        source = _sorted(value)
        site = moved(source) if source is not None else None
        if site is not None and _whole(source) in wholes and _has_gpu(site):
            return site
    return None


def _by_what_was_unpacked(site: Site) -> bool:
    """Whether `words[order]` stands there, and `order` is nothing but one of several things that a call gave: the dry run does not tell what
    a model gave from the same moved elsewhere, `order = order.cpu()`."""
    node = site.node
    index = node.slice[0].slice if isinstance(node, cst.Subscript) and len(node.slice) == 1 else None
    if not isinstance(index, cst.Index) or not isinstance(index.value, cst.Name):
        return False
    name, found = index.value.value, False
    for item in walk(site.parsed.module):
        if isinstance(item, cst.Assign):
            for target in item.targets:
                if any(isinstance(part, cst.Name) and part.value == name for part in walk(target.target)):
                    if not isinstance(target.target, cst.Tuple) or not isinstance(item.value, cst.Call):
                        return False
                    found = True
    return found


def _sorted(value: Value) -> Value | None:
    """What the places of a sort, or of what is largest, were taken from, as long as nothing moves them: they have a dimension, and lie where
    it lies."""
    if _move(value) is not None:
        return None
    if type(value) is Opaque and value.source == "call" and isinstance(value.origin, Opaque) and value.origin.name == value.name:
        value = value.origin  # as the forward of a model gives it back
    pair = value.origin if type(value) is Opaque and value.source == "item" else None
    known = type(pair) is Opaque and pair.source == "call" and pair.name in _PLACES
    return pair.origin if known else None


# Of sort() the places have as many dimensions as what is sorted, of topk() too: max() of a row gives a number.
_PLACES = frozenset({"sort", "topk"})


def _is_tensor(value: Value) -> bool:
    """Whether a part of a batch is a tensor with a dimension: torch's loader has put it together, or it is reshaped."""
    *made, item = _back(value)
    source = item
    while isinstance(source, Opaque) and source.origin is not None:
        source = source.origin
    if not isinstance(source, Instance) or source.kind != "loader":
        return any(part.source == "call" for part in made)
    size = source.arg(1, "batch_size")
    return size is None or all(not isinstance(alt, Const) or bool(alt.value) for alt in alternatives(size))


def input_left_behind(view: View, event: Event, value: Value) -> bool:
    """Whether what a model is given is a part of a batch, and stays where it is, while the program moves another part of it for
    the loss, or moves what it gives to the same model elsewhere."""
    wholes = _left(value)
    if not wholes or not all(from_cpu(view, whole) for whole in wholes):
        return False
    for loss in view.of("loss"):
        if event in _forwards(loss.input) and loss.loss not in _TARGET_ANYWHERE:
            sites = [moved(alt) for alt in real(loss.target) if _whole(alt) in wholes]
            if sites and None not in sites and all(_has_gpu(site) for site in sites):
                return True
    others = [alt for other in view.about("forward", event.subject) for given in other.args[:1] for alt in real(given)]
    given = real(event.args[0]) if event.args else ()
    return any(alt in given for alt in real(value)) and any(
        (site := moved(alt)) is not None and _whole(alt) is not None and _has_gpu(site) for alt in others
    )


def moved(value: Value) -> Site | None:
    """Where a part of a batch was moved to a device, as far as that is none of the CPU."""
    for part in _back(value):
        site = _move(part)
        if site is not None:
            return None if _CPU.search(site.text()) or site.text().endswith(".cpu()") or _OF_THE_CPU.search(site.text()) else site
    return None


def from_cpu(view: View, whole: Value | None) -> bool:
    """Whether nothing says that a batch is on a GPU already: a loader's own functions may bring it there, or a loop over its keys."""
    if any(whole in real(event.subject) and _by_any_key(event) for event in view.of("item.set")):
        return False
    source = whole
    while isinstance(source, Opaque) and source.origin is not None:
        source = source.origin
    if not isinstance(source, Instance):
        return isinstance(source, Opaque) and not _called_here(view)
    if source.kind != "loader" or "**" in source.kwargs or view.run.store.get(source, " prepared") is not None:
        return False
    if real(source.arg(6, "collate_fn")):
        return False
    for dataset in real(source.arg(0, "dataset")):
        if isinstance(dataset, Instance) and dataset.type == "torch.utils.data.TensorDataset":
            return False  # where its tensors are is seen of them
        if isinstance(dataset, Instance) and any(asked_elsewhere(dataset, value) for value in (*dataset.args, *dataset.kwargs.values())):
            return False
        methods = dataset.cls.cf.methods.values() if isinstance(getattr(dataset, "cls", None), Class) else ()
        if any(unit.words & {"cuda", "to", "device"} for unit in methods):
            return False
    return True


def _by_any_key(event: Event) -> bool:
    """Whether something is put in place under a key that only the run tells: `for key in batch: batch[key] = batch[key].to(device)`."""
    literal = (cst.BaseString, cst.BaseNumber)
    return not all(isinstance(part.slice, cst.Index) and isinstance(part.slice.value, literal) for part in event.target.slice)


def _called_here(view: View) -> bool:
    """Whether another line of the file calls the function that the run begins with: what it is given can be seen there, or not."""
    root = view.run.root
    if root is None:
        return False
    call = re.compile(rf"(?<!def )\b{re.escape(root.name)}\(")
    return any(root.name in line and call.search(line) for line in root.facts.lines)


def asked_elsewhere(dataset: Instance, value: Value) -> bool:
    """Whether what a data set is given may have been put on a device before: where that is asked for by its name, or by that of
    what it was taken from."""
    if dataset.site is None:
        return True
    names: set[str] = set()
    todo, seen = list(real(value)), set()
    while todo:
        part = todo.pop()
        if isinstance(part, Tensor) and part.traits.get("device") not in (None, "default", "cpu"):
            return True
        if isinstance(part, Opaque) and id(part) not in seen:
            seen.add(id(part))
            names.add(part.name)
            todo += [*part.parts, *real(part.origin)]
    places = "|".join(re.escape(name) for name in sorted(names) if name.isidentifier())
    asked = re.compile(rf"\b(?:{places})\.(?:to|cuda)\(") if places else None
    return asked is not None and any(asked.search(line) for line in dataset.site.parsed.facts.lines[: dataset.site.location().row])


def read_by_workers(view: View, value: Value) -> bool:
    """Whether a value is a part of a batch that worker processes read, or that goes through pinned memory, and that torch puts
    together: it is of the CPU."""
    whole = _whole(value)
    loader = whole.origin if isinstance(whole, Opaque) else None
    if not isinstance(loader, Instance) or any(_move(part) for part in _back(value)) or not from_cpu(view, whole):
        return False
    workers, pinned = (real(loader.kwargs.get(name)) for name in ("num_workers", "pin_memory"))
    return any(bool(alts) and all(isinstance(alt, Const) and alt.value for alt in alts) for alts in (workers, pinned))


def _moves_it(part: Value) -> bool:
    site = _move(part)
    return site is not None and not _OF_THE_CPU.search(site.text())


def _left(value: Value | None) -> list[Value]:
    """The batches that a value is an item of, where it was moved on no path."""
    alts = real(value)
    if not alts or any(_whole(alt) is None or any(map(_moves_it, _back(alt))) for alt in alts):
        return []
    return [whole for alt in alts if (whole := _whole(alt)) is not None]


def _whole(value: Value) -> Value | None:
    *_, last = _back(value)
    return last.origin if type(last) is Opaque and last.source == "item" and last.tags & _BATCH else None


def _back(value: Value) -> Iterator[Value]:
    """A part of a batch, back from what was made of it to the item that it was."""
    for _ in range(_MOST):
        yield value
        kept = isinstance(value, Opaque) and (value.source == "op" or value.source == "call" and value.name in _STAY)
        if not kept or value.origin is None:
            return
        value = value.origin


def _move(value: Value) -> Site | None:
    node = value.site.node if isinstance(value, Opaque) and value.site is not None else None
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    name, given = node.func.attr.value, [value.site.parsed.text(arg) for arg in node.args]
    if name in ("cuda", "cpu", "type_as", "type", "copy_") or name == "to" and not all(_DTYPE.search(text) for text in given[:1]):
        return value.site
    return None


def _brought_back(forward: Event, loss: Event) -> bool:
    """Whether a line from the model's call to the loss speaks of the CPU: what little is known of an output may not tell."""
    if forward.site is None or forward.site.parsed is not loss.site.parsed:
        return False
    rows = sorted((forward.site.location().row, loss.site.location().end_row or loss.site.location().row))
    lines = loss.site.parsed.facts.lines[rows[0] - 1 : rows[1]]
    return any(re.search(r"\bcpu\b|\.numpy\(", line) for line in lines)


def _stays(value: Value) -> bool:
    """Whether nothing between a model's call and the loss brings the output elsewhere."""
    for _ in range(_MOST):
        if not isinstance(value, Opaque) or value.origin is None or _move(value) is not None:
            return False
        made_by = value.origin
        if isinstance(made_by, Instance) or value.name == "output":
            return True
        if isinstance(made_by, Opaque) and ("module" in made_by.tags or made_by.source == "param"):
            return True
        value = made_by
    return False


def _forwards(value: Value | None) -> list[Event]:
    return [flow for alt in real(value) for flow in alt.flows if flow.kind == "forward"]


def _has_gpu(site: Site) -> bool:
    """Whether the program may run on a GPU: one that names the CPU as its only device has nothing to mix."""
    lines = site.parsed.facts.lines
    return any(_GPU.search(line) for line in lines) or not any(_CPU.search(line) for line in lines)
