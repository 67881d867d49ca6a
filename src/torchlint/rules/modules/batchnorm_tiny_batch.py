"""518: batch norm is trained on batches of one sample."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Dict, Instance, Value, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import loader_of, one_by_default, option

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
        loader = _loader_of(view, event.args[0])
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
        roles = {"call": view.call_text(event.site), "norm": norm.type.rsplit(".", 1)[-1]}
        size = option(loader, "batch_size")
        if size is None or number(size) == 1:
            yield Report(CODE, event.site, roles, related)
        else:
            yield Report(CODE, event.site, {**roles, "option": real(size)[0].name}, related, words=_UNLESS_GIVEN)


_UNLESS_GIVEN = (
    "`{call}` trains `{norm}` on batches of one sample, as `{option}` is 1 by default: its mean and variance are those of that sample alone",
    "let the default be larger, or use `GroupNorm` or `LayerNorm`, which do not look at the batch",
)


def _loader_of(view: View, given: Value) -> Instance | None:
    """The loader of a batch that a model is called with; of a dict, the one that all that is known of it came from."""
    alts = real(given)
    if len(alts) == 1 and isinstance(alts[0], Dict):
        loaders = {loader_of(item) for item in view.run.known_items(alts[0])}
    else:  # `if args.cuda: x = x.cuda()`: it comes from the same loader on both ways
        loaders = {loader_of(alt) for alt in alts}
    return loaders.pop() if len(loaders) == 1 else None


def _one(loader: Instance) -> bool:
    if (
        loader.kwargs.keys() & {"*", "**"}
        or option(loader, "batch_sampler") is not None
        or option(loader, "collate_fn") is not None
    ):
        return False
    size = option(loader, "batch_size")
    return "batch_size" not in loader.kwargs and len(loader.args) < 2 or number(size) == 1 or _by_default(loader, size)


def _by_default(loader: Instance, size: Value | None) -> bool:
    """Whether the size is an option of the command line that is 1 where nobody gives another."""
    return size is not None and loader.site is not None and all(one_by_default(loader.site, alt) for alt in real(size))


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
