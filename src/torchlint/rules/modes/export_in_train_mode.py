"""206: a model is traced or exported while it is in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, Ref, Value, real
from torchlint.rules.base import Report, View

CODE = 206


def check(view: View) -> Iterator[Report]:
    """`torch.jit.trace(model, x)` with dropout or batch norm in a model that nobody has put in evaluation mode."""
    for event in view.of("export"):
        models = real(event.subject)
        if len(models) != 1 or any(
            other.site == event.site and other.subject is not event.subject for other in view.of("export")
        ):
            continue
        if not _trains(view, models[0], event.modes):
            continue
        related = [(event.mode_site, "the last call that sets the mode")] if event.mode_site is not None else []
        model = event.site.parsed.text(event.site.node.args[0].value)
        yield Report(CODE, event.site, {"call": event.name, "model": model if len(model) <= 40 else "model"}, related)


def _trains(view: View, module: Value, modes: dict[int, bool | None], depth: int = 0) -> bool:
    """Whether some layer in a module is in training mode, for certain, and computes something else there."""
    if not isinstance(module, Instance) or depth > 12 or view.mode_dependent(module) is not True:
        return False
    inner = [
        child
        for child in view.run.children.get(id(module), ())
        if (id(module), id(child)) not in view.run.unsure_children
    ]
    if module.kind == "wrapper":
        inner.extend(real(module.args[0]) if module.args else ())
    if isinstance(module.cls, Ref) and not inner:
        return modes.get(id(module)) is True
    return any(_trains(view, child, modes, depth + 1) for child in inner)
