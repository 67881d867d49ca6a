"""401: tensors that certainly live on different devices meet."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Ref, Seq, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.asked_for_gpu import Forgotten, asked_for_one, scores_stay
from torchlint.rules.shared.devices import on_gpu, weights_at
from torchlint.rules.shared.left_behind import asked_elsewhere, indexed_left_behind, input_left_behind, operand_left_behind, read_by_workers, target_left_behind
from torchlint.rules.shared.met_by_nothing import met_by_nothing
from torchlint.rules.shared.moved_otherwise import moved_otherwise
from torchlint.rules.shared.moved_too_late import moved_too_late
from torchlint.rules.shared.never_moved import input_put_elsewhere
from torchlint.rules.shared.never_moved_in_wrapper import wrapped_on_the_cpu
from torchlint.rules.shared.outputs import has_weights, lying_with, moved_back, pair_of, placed_of_output
from torchlint.rules.shared.packed_lengths import PACKS, lengths_of, lengths_on_gpu, packed_by
from torchlint.rules.shared.placed_in_methods import placed_in_methods
from torchlint.rules.shared.placing import graph_data, moved_elsewhere, places_itself
from torchlint.rules.shared.states_left_behind import states_left_behind
from torchlint.rules.shared.tensors_of_images import tensor_of_image
from torchlint.rules.shared.torchsummaries import summaries_of_the_cpu
from torchlint.rules.shared.wrapped_in_any_case import wrapped_in_any_case

CODE = 401
CALLS = frozenset({"[]="}) | PACKS
_MOST_STEPS = 6
_ACROSS = re.compile(r"\btensor_split\(")  # takes places on the CPU, wherever the tensor is


def check(view: View) -> Iterator[Report]:
    """A moved model and a batch that was not; a tensor on the GPU and one made on the CPU."""
    reports = [*_meetings(view), *_models_left_behind(view), *_wrapped(view), *_asked_for_one(view), *_states_left_behind(view)]
    reports += [*_summaries(view), *_packed(view), *_wrapped_in_any_case(view)]
    if reports and not _defaults_changed(view):
        yield from reports


def _meetings(view: View) -> Iterator[Report]:
    for event in view.of("forward"):
        device, moved = weights_at(view, event)
        if not on_gpu(device) or view.of("module.move") and moved_back(view, event):
            continue
        if not has_weights(view, event.subject) or _scatters(event.subject):
            continue
        for index, value in enumerate(event.args):
            # What comes later may be what a model chooses by, which may stay on the CPU.
            left = _on_cpu(view, value) or index == 0 and _never_moves(event.subject) and (
                bool(real(value)) and all(read_by_workers(view, alt) for alt in real(value)) or input_left_behind(view, event, value)
            )
            if left and not _fits_anywhere(view, event, index, value):
                yield _report(view, event, value, moved, "the model is moved here")
                break
        else:
            yield from _graph_on_cpu(view, event, moved)
    for event in view.of("loss"):
        site = target_left_behind(view, event)
        if site is not None:
            yield _report(view, event, event.target, site, "another part of the batch is moved here")
            continue
        source = event.source
        device, moved = weights_at(view, source) if source is not None else (None, None)
        if not on_gpu(device) or moved_back(view, source) or not has_weights(view, source.subject):
            continue
        for value in (event.target, event.weight):
            if value is not None and _on_cpu(view, value):
                yield _report(view, event, value, moved, "the model is moved here")
                break
    yield from _taken_from_cpu(view)
    for event in view.of("mix"):
        if event.chosen or _ACROSS.search(event.site.text()):
            continue
        left = operand_left_behind(view, event)
        if left is not None and not _asks_first(event):
            yield _of_batch(view, event, *left)
            continue
        tensors = [value for value in event.values if isinstance(value, Tensor)]
        cpu = [t for t in tensors if t.traits.get("device") in ("default", "cpu") and not t.traits.get("dim0") and not t.traits.get("maybe0")]
        if not cpu:
            continue
        placed = [(value, *placed_of_output(view, value)) for value in event.values if not isinstance(value, Tensor) or value not in cpu]
        gpu = [site for _, device, site in placed if on_gpu(device)]
        known = all(isinstance(value, Tensor) or device is not None for value, device, _ in placed)
        if gpu and known and not moved_elsewhere(cpu[0]) and not _asks_first(event):
            yield _report(view, event, cpu[0], gpu[0], "the other operand is put on its device here")


def _fits_anywhere(view: View, event: Event, index: int, value: Value) -> bool:
    """Whether it does not matter where an argument of a model is: the model moves it, packs by it, or asks it for numbers alone."""
    model = event.subject
    if places_itself(model, index) or _placed_by_a_part(view, model) or packed_by(view, value):
        return True
    return met_by_nothing(model, index) or placed_in_methods(view, model, index)


def _placed_by_a_part(view: View, module: Value, depth: int = 0) -> bool:
    """Whether a part of a model, or a part of that, puts what it is given on a device: `self.features(x)`, whose forward begins with
    `x.cuda()`."""
    parts = view.run.children.get(id(module), ()) if depth < _MOST_STEPS else ()
    return any(places_itself(part, 0) or _placed_by_a_part(view, part, depth + 1) for part in parts)


def _taken_from_cpu(view: View) -> Iterator[Report]:
    """A tensor on the CPU is indexed by one on the GPU; the other way round torch copies the places."""
    for event in view.of("taken"):
        site = indexed_left_behind(view, event)
        if site is not None and not _asks_first(event):
            yield _report(view, event, event.subject, site, "another part of the batch is moved here")
            continue
        if not isinstance(event.subject, Tensor) or not _on_cpu(view, lying_with(event.subject)[-1]) or _asks_first(event):
            continue
        sources = [chain[-1] for value in event.values if not any(map(_may_be_number, chain := lying_with(value)))]
        sites = [site for source in sources for device, site in [placed_of_output(view, source)] if on_gpu(device)]
        if sites and not moved_elsewhere(event.subject):
            yield _report(view, event, event.subject, sites[0], "what it is indexed by is put on its device here")


def _may_be_number(value: Value) -> bool:
    """Whether it may be without dimensions, as an item is that a loop takes out: such a place may lie anywhere."""
    if isinstance(value, Tensor):
        return bool(value.traits.keys() & {"dim0", "maybe0"})
    return value.source == "item" and pair_of(value.origin) is None


def _models_left_behind(view: View) -> Iterator[Report]:
    """One for each model that nobody moves, or not yet, and that is given what was moved."""
    told: set[int] = set()
    for event in view.of("forward"):
        if id(event.subject) in told:
            continue
        late = moved_too_late(view, event)
        apart = moved_otherwise(view, event) if late is None else None
        found = late[0] if late is not None else apart[0] if apart is not None else input_put_elsewhere(view, event)
        if found is None:
            continue
        told.add(id(event.subject))
        name, own = view.owner_text(event, "the model"), event.subject.name
        if own and own.rpartition(".")[2] != name.rpartition(".")[2]:
            name = own  # `checkpoint(model, x)` calls it
        yield _too_late(view, event, late) if late is not None else _left_behind(view, event, name, found, apart[1] if apart is not None else None)


def _left_behind(view: View, event: Event, name: str, found: Site, move: Event | None) -> Report:
    """With a `move`: of a model that is moved on another way through the program."""
    related = [(found, "its input is put on the device here")]
    other = f"`{name}`"
    if move is not None:
        other += ", which is moved on another way only,"
        related.append((move.site, "the model is moved here, which does not come before the call"))
    return Report(CODE, event.site, {"call": view.call_text(event.site), "other": other, "value": name}, related)


def _too_late(view: View, event: Event, late: tuple[Site, Event]) -> Report:
    """Told in the function that moves the model, where the call is made from."""
    put, move = late
    at = next((call for call in reversed(event.calls) if call is not None and call.parsed is move.site.parsed), None)
    if event.site.parsed is move.site.parsed or at is None:
        at = event.site
    name = view.owner_text(move, "the model")
    words = {"call": view.call_text(at), "other": f"`{name}`, which is moved only later,", "value": name}
    related = [(put, "its input is put on the device here"), (move.site, "the model is moved only here")]
    return Report(CODE, at, words, related if at is event.site else [*related, (event.site, "they meet here")])


def _asked_for_one(view: View) -> Iterator[Report]:
    """One for each model that is moved as an option says, and given what is moved in any case, or whose scores meet that; or the other way
    round."""
    told: set[int] = set()
    for event in view.of("forward"):
        if id(event.subject) not in told and (found := asked_for_one(view, event)) is not None:
            told.add(id(event.subject))
            yield _forgotten(view, event, found)
    for event in view.of("loss"):
        model = event.source.subject if event.source is not None else None
        if id(model) not in told and (found := scores_stay(view, event)) is not None:
            told.add(id(model))
            yield _forgotten(view, event, found)


def _forgotten(view: View, event: Event, found: Forgotten) -> Report:
    name = view.owner_text(event, "the model") if found.value is event.subject else _operand(event, found.value)
    words = {"call": view.call_text(event.site), "other": f"{found.case}, `{name}`", "value": name}
    return Report(CODE, event.site, words, [(found.moved, "the other one is moved here, whatever is asked for")])


def _states_left_behind(view: View) -> Iterator[Report]:
    for load, move in states_left_behind(view):
        optimizer, model = view.owner_text(load, "optimizer"), view.owner_text(move, "the model")
        words = (
            f"`{view.call_text(load.site)}` puts the state where `{model}` is then, on the CPU, and it stays there: "
            f"the first `{optimizer}.step()` behind the move to the GPU raises",
            f"move `{model}` first, and load the state of `{optimizer}` then",
        )
        yield Report(CODE, load.site, {}, [(move.site, "the model is moved here")], words=words)


def _wrapped(view: View) -> Iterator[Report]:
    for event, wrap in wrapped_on_the_cpu(view):
        name = view.owner_text(event, "the model")
        words = (
            f"`{view.call_text(event.site)}` raises wherever there is a GPU: `DataParallel` asks that the weights of `{name}` be there, and nobody moves them",
            f"move it first: `{name}.cuda()`",
        )
        yield Report(CODE, event.site, {}, [(wrap.site, "wrapped here")], words=words)


def _wrapped_in_any_case(view: View) -> Iterator[Report]:
    for event, case in wrapped_in_any_case(view):
        words = (
            f"{case}, what `{view.call_text(event.site)}` wraps is left on the CPU, and its call raises wherever there are several GPUs: "
            "`DataParallel` asks that the weights be on the first of them",
            "wrap it only where the GPU is asked for, too",
        )
        yield Report(CODE, event.site, {}, [], words=words)


def _summaries(view: View) -> Iterator[Report]:
    for event, model in summaries_of_the_cpu(view):
        given = event.site.parsed.text(event.site.node.args[0].value)
        name = given if re.fullmatch(r"[\w.]+", given) else "the model"
        words = (
            f"`{view.call_text(event.site)}` makes its input on the GPU wherever there is one, and `{name}` is on the CPU: it raises there",
            f'pass `device="cpu"`, or move `{name}` to the device first',
        )
        yield Report(CODE, event.site, {}, [], words=words)


def _packed(view: View) -> Iterator[Report]:
    """Told where the lengths are packed by, or, of another file than the one that moves them, where that leads there."""
    for event, put in lengths_on_gpu(view):
        name, file = event.site.parsed.text(lengths_of(event.site.node)), put.parsed.facts
        words = (
            f"`pack_padded_sequence` takes lengths that are on the CPU, and `{name}` is on the GPU: it raises there",
            f"give it `{name}.cpu()`, or leave the lengths where they are",
        )
        related = [(put, "the lengths are put on the GPU here")]
        at = next((call for call in reversed(event.calls) if call is not None and call.parsed.facts is file), None)
        if event.site.parsed.facts is file or at is None:
            yield Report(CODE, event.site, {}, related, words=words)
        else:
            yield Report(CODE, at, {}, [*related, (event.site, "they are packed by here")], words=words)


def _of_batch(view: View, event: Event, value: Value, site: Site) -> Report:
    """A part of a batch that stays, told in the function that moves another part, where an operation of what it calls needs both."""
    report = _report(view, event, value, site, "another part of the batch is moved here")
    caller = next((call for call in reversed(event.calls) if call is not None and call.parsed is site.parsed), None)
    if event.site.parsed is site.parsed or caller is None:
        return report
    report.site, report.roles["call"] = caller, view.call_text(caller)
    report.related.append((event.site, "they meet here"))
    return report


def _asks_first(event: Event) -> bool:
    """Whether the same line compares devices: `x.device != y.device or not torch.equal(x, y)`."""
    place = event.site.location()
    lines = event.site.parsed.facts.lines[place.row - 1 : place.end_row or place.row]
    return any(re.search(r"\.device\s*[!=]=|\.is_cuda\b", line) for line in lines)


def _graph_on_cpu(view: View, event: Event, moved: Site | None) -> Iterator[Report]:
    """A model that was moved and a graph that was not."""
    ours = isinstance(getattr(event.subject, "cls", None), Class)
    given = [value for index, value in enumerate(event.args) if not places_itself(event.subject, index)]
    for value in given if ours else [*given, *(event.get("kwargs") or {}).values()]:
        name = graph_data(value, event.site)
        if name:
            yield _report(view, event, value, moved, "the model is moved here", name)
            return


def _scatters(module: Value | None) -> bool:
    """Whether it is a wrapper, which brings what it is given to its devices."""
    return isinstance(module, Instance) and module.kind == "wrapper"


def _never_moves(module: Value | None) -> bool:
    """Whether no method of a model may bring what it is given to a device."""
    if not isinstance(module, Instance) or not isinstance(module.cls, Class):
        return isinstance(module, Instance)
    methods = [unit for cls in module.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values()]
    return not any(unit.words & {"cuda", "to", "device"} for unit in methods)


def _on_cpu(view: View, value: Value) -> bool:
    """Whether an argument certainly lives on the CPU: made there, or straight out of a loader of CPU data."""
    alts = real(value)
    if len(alts) == 1 and isinstance(alts[0], Seq) and alts[0].kind == "tuple":  # the two states of an LSTM
        items = view.run.known_items(alts[0])
        return bool(items) and all(isinstance(item, Tensor) and _alternative_on_cpu(view, item) for item in items)
    return bool(alts) and all(_alternative_on_cpu(view, alt) for alt in alts)


def _alternative_on_cpu(view: View, alt: Value) -> bool:
    if isinstance(alt, Tensor) and "device" in alt.traits:
        return alt.traits["device"] in ("default", "cpu") and not alt.traits.keys() & {"dim0", "maybe0"}
    if tensor_of_image(view, alt):
        return True
    source = alt
    while isinstance(source, Opaque) and source.source == "item" and "batch" in source.tags and source.origin is not None:
        source = source.origin
    if not isinstance(source, Instance) or source.kind != "loader" or source is alt or alt.origin is source:
        return False
    if source.arg(6, "collate_fn") is not None or "**" in source.kwargs or view.run.store.get(source, " prepared") is not None:
        return False
    dataset = real(whole_dataset(source.arg(0, "dataset")))
    return len(dataset) == 1 and _cpu_dataset(view, dataset[0])


def _cpu_dataset(view: View, dataset: Value) -> bool:
    if not isinstance(dataset, Instance):
        return False
    if isinstance(dataset.cls, Class):
        words = set().union(*(unit.words for unit in dataset.cls.cf.methods.values())) if dataset.cls.cf.methods else set()
        moves = words & {"cuda", "to", "device", "set_default_tensor_type", "set_default_device"}
        return dataset.kind == "dataset" and not moves and not any(asked_elsewhere(dataset, value) for value in (*dataset.args, *dataset.kwargs.values()))
    if dataset.type == "torch.utils.data.TensorDataset":
        return bool(dataset.args) and all(_on_cpu(view, value) for value in dataset.args)
    return isinstance(dataset.cls, Ref) and dataset.type.startswith("torchvision.datasets.")


def _defaults_changed(view: View) -> bool:
    files = {id(event.site.parsed.facts): event.site.parsed.facts for event in view.run.graph.events if event.site is not None}
    return any(facts.words & {"set_default_device", "set_default_tensor_type"} for facts in files.values())


def _report(view: View, event: Event, value: Value, site, words: str, name: str = "") -> Report:
    name = name or _operand(event, value)
    related = [(site, words)] if site is not None else []
    simple = re.fullmatch(r"[\w.]+(?:[(\[].*[)\]])?", name)
    roles = {
        "call": view.call_text(event.site),
        "other": f"`{name}`" if name else "one of them",
        "value": name if simple else f"({name})" if name else "x",
    }
    return Report(CODE, event.site, roles, related)


def _operand(event: Event, value: Value) -> str:
    """What the user calls a value that an operation is given: the operand's text, the value's name, or what made it."""
    node, text = event.site.node, event.site.parsed.text
    alt = real(value)[0]
    for operand, given in _operands(node, event):
        if given is value or given is alt:
            found = text(operand)
            if len(found) <= 40 and "\n" not in found:
                return found
    name = getattr(alt, "name", "")
    if name:
        return f"self.{name}" if f"self.{name}" in event.site.text() else name
    made = alt.sites.get("made") if isinstance(alt, Tensor) else None
    found = made.text() if made is not None else ""
    return found if len(found) <= 40 and "\n" not in found else ""


def _operands(node: cst.CSTNode, event: Event) -> Iterator[tuple[cst.CSTNode, Value]]:
    """The operands of an operation as they are written, each with its value, where one belongs to one."""
    values = list(event.args if event.kind in ("forward", "loss") else event.values)
    if isinstance(node, cst.BinaryOperation):
        yield from zip((node.left, node.right), values)
    elif isinstance(node, cst.AugAssign):
        yield from zip((node.target, node.value), values)
    elif isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        yield from zip((node.left, node.comparisons[0].comparator), values)
    elif isinstance(node, cst.Call) and not any(arg.star for arg in node.args):
        given = [arg.value for arg in node.args if arg.keyword is None]
        if given and isinstance(given[0], (cst.List, cst.Tuple)) and len(given[0].elements) == len(values) > 1:
            given = [element.value for element in given[0].elements]
        elif len(given) + 1 == len(values) and isinstance(node.func, cst.Attribute):
            given = [node.func.value, *given]  # a method: of the tensor, and what it is given
        if len(given) == len(values):
            yield from zip(given, values)
        keywords = event.get("kwargs") or {}
        for arg in node.args:
            if arg.keyword is not None and arg.keyword.value in keywords:
                yield arg.value, keywords[arg.keyword.value]
