"""A model that nobody brings to the device, and is given what was put there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Ref, Value, real
from torchlint.files.project import without_comments
from torchlint.rules.base import View
from torchlint.rules.shared.devices import has_parameters, on_gpu, placed_at

# What brings a model to its device without a word of it here, or what it is given back to the CPU.
PLACERS = (
    r"Accelerator|Fabric|LightningModule|pytorch_lightning|lightning|deepspeed|DistributedDataParallel|DDP|data_parallel"
    r"|dispatch_model|cpu_offload|set_default_device|set_default_tensor_type"
)
PLACES = re.compile(rf"\b(?:DataParallel|{PLACERS})\b|\bwith\s+torch\.device\(")
_BY_ITSELF = frozenset({"cuda", "to", "device", "cpu", "get_device", "is_cuda"})
_DEEPEST = 12


def input_put_elsewhere(view: View, event: Event) -> Site | None:
    """Where what a model is given was put on the GPU, if the model was made on the CPU and stays there for certain."""
    model = event.subject
    if not isinstance(model, Instance) or model.kind != "module" or model.site is None:
        return None
    if event.get("device") is not None or event.get("wrapped") or event.get("inside"):
        return None
    put = _put_on_the_gpu(view, event)
    if put is None or not _stays_where_it_was_made(view, model) or not holds_weights_of_the_cpu(view, model):
        return None
    return None if _placed_elsewhere(view, event, model) else put


def _put_on_the_gpu(view: View, event: Event) -> Site | None:
    placed = [placed_at(view, alt) for value in event.args[:1] for alt in real(value)]
    return placed[0][1] if placed and all(on_gpu(device) for device, _ in placed) else None


def _stays_where_it_was_made(view: View, model: Instance) -> bool:
    """Whether no call moves the model, what it is part of or a part of it, and nobody who is not seen has it."""
    moved = [alt for move in view.of("module.move") for alt in real(move.subject)]
    if any(not isinstance(alt, Instance) or view.related_modules(alt, model) for alt in moved):
        return False
    run = view.run
    if any(model is part for parts in run.children.values() for part in parts):
        return False
    # A layer counts as given away already where it is put into a container.
    parts = (part for part in _with_parts(view, model) if part is model or isinstance(getattr(part, "cls", None), Class))
    return not any(id(part) in run.escaped for part in parts)


def _with_parts(view: View, model: Value, depth: int = 0) -> Iterator[Value]:
    yield model
    for part in view.run.children.get(id(model), ()) if depth < _DEEPEST else ():
        yield from _with_parts(view, part, depth + 1)


def holds_weights_of_the_cpu(view: View, model: Instance, methods: frozenset[str] = frozenset()) -> bool:
    """Whether all that a model is made of is seen, is made on the default device, and holds weights. No method may speak of devices;
    or none of these names."""
    parts = [part for part in _with_parts(view, model) if not _is_a_setting(view, part)]
    return all(_is_made_on_the_cpu(part, methods) for part in parts) and any(map(_has_weights, parts))


def _is_a_setting(view: View, part: Value) -> bool:
    """Whether what a model keeps is something unknown that nobody calls, as a size is that it was given: no layer."""
    return type(part) is Opaque and "module" not in part.tags and not view.about("forward", part)


def _has_weights(part: Value) -> bool:
    if not isinstance(part, Instance):
        return False
    return has_parameters(part) or isinstance(part.cls, Ref) and part.type.startswith("torchvision.models.")


def _is_made_on_the_cpu(part: Value, methods: frozenset[str]) -> bool:
    if not isinstance(part, Instance) or "**" in part.kwargs:
        return False
    if isinstance(part.cls, Ref):
        return part.type.startswith(("torch.nn.", "torchvision.models.")) and "device" not in part.kwargs
    if not isinstance(part.cls, Class) or not set(part.cls.externals()) <= {"torch.nn.Module"}:
        return False
    units = (unit for cls in part.cls.mro() if isinstance(cls, Class) for unit in cls.cf.methods.values())
    return not any(unit.words & _BY_ITSELF for unit in units if not methods or unit.name in methods)


def _placed_elsewhere(view: View, event: Event, model: Instance) -> bool:
    """Whether a line of the files that make the model, ask it or use these may bring it to a device: in a method that this run does not
    come to, or in what calls it."""
    names = {view.owner_text(event, "model").rpartition(".")[2], model.name.rpartition(".")[2]} - {""}
    name = rf"\b(?:{'|'.join(re.escape(name) for name in sorted(names))})\b"
    moves = re.compile(
        rf"{name}[^=\n]*\.(?:to|cuda|to_empty)\(|\bfor\b.*{name}.*:"
        rf"|\w*(?:device|gpu|cuda|parallel|move|place|prepare|setup)\w*\([^)\n]*{name}",
        re.IGNORECASE,
    )
    return any(PLACES.search(text) or moves.search(text) for text in texts_around(view, event, model))


def texts_around(view: View, event: Event, model: Instance) -> Iterator[str]:
    """The code of the files that make a model or call it, and of those that use these."""
    own = {site.parsed.facts.path: site.parsed.facts for site in (event.site, model.site, *event.calls) if site is not None}
    for facts in own.values():
        yield without_comments(facts.lines)
    project = view.run.world.project_of(event.site.parsed.facts.path)
    users = {user.path: user for path in own for user in (project.users(path) if project is not None else ())}
    yield from (user.code for path, user in users.items() if path not in own)
