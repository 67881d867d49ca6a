"""518: batch norm is trained on batches of one sample."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, number
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import loader_of, option

CODE = 518


def check(view: View) -> Iterator[Report]:
    """A model with batch norm, in training mode, on batches of a loader with `batch_size=1`."""
    told = set()
    for event in view.of("forward"):
        model = event.subject
        if (
            event.get("mode") is not True
            or event.get("grad") is not True
            or not event.args
            or not isinstance(model, Instance)
        ):
            continue
        loader = loader_of(event.args[0])
        if loader is None or id(loader) in told or not _one(loader) or event.site.parsed.unit.name == "forward":
            continue
        norm = _norm_in(view, model)
        if norm is None or not any(
            step.loops and event.loops and step.loops[-1] is event.loops[-1] for step in view.of("optimizer.step")
        ):
            continue
        told.add(id(loader))
        related = [(loader.site, "its batches have one sample")] if loader.site is not None else []
        if norm.site is not None:
            related.append((norm.site, "this layer computes its mean and variance over the batch"))
        yield Report(
            CODE, event.site, {"call": view.call_text(event.site), "norm": norm.type.rsplit(".", 1)[-1]}, related
        )


def _one(loader: Instance) -> bool:
    if (
        loader.kwargs.keys() & {"*", "**"}
        or option(loader, "batch_sampler") is not None
        or option(loader, "collate_fn") is not None
    ):
        return False
    size = option(loader, "batch_size")
    return "batch_size" not in loader.kwargs and len(loader.args) < 2 or number(size) == 1


def _norm_in(view: View, module: Instance, depth: int = 0) -> Instance | None:
    """A batch norm in a module that trains with the statistics of the batch, for certain."""
    if module.type.startswith("torch.nn.BatchNorm"):
        return module if "track_running_stats" not in module.kwargs else None
    for child in view.run.children.get(id(module), ()) if depth < 8 else ():
        if isinstance(child, Instance) and (id(module), id(child)) not in view.run.unsure_children:
            found = _norm_in(view, child, depth + 1)
            if found is not None:
                return found
    return None
