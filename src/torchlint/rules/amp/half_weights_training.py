"""707: float16 weights are trained by an optimizer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Const, Event, Instance, Ref, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.frozen import switches

CODE = 707
_HALF = re.compile(r"\.half\(\)$|\.to\((?:dtype=)?torch\.(?:half|float16)\)$")
# Somebody keeps float32 copies, or the weights are no float16 after all.
_OTHERS = re.compile(r"master|deepspeed|FP16|apex|amp|scaler|accelerat|float|prep_param|copy", re.I)


def check(view: View) -> Iterator[Report]:
    """`model.half()`, then `optimizer.step()` over its parameters; or a model that is loaded so."""
    yield from _loaded(view)
    for event in view.of("module.move"):
        if not _HALF.search(event.site.text()) or event.guards or _kept_elsewhere(view):
            continue
        found, _ = after(event, lambda other: other.kind == "optimizer.step" and _over(view, other, event.subject) is not None)
        for step in found:
            if view.of("backward"):
                owner = view.owner_text(event, "model")
                roles = {"model": owner, "optimizer": view.owner_text(step, "optimizer")}
                yield Report(CODE, event.site, roles, [(step.site, "this step rounds to float16")])
                break


def _loaded(view: View) -> Iterator[Report]:
    """`from_pretrained(..., torch_dtype=torch.float16)`, then `optimizer.step()` over its parameters."""
    frozen = {id(switch.module) for switch in switches(view)}
    for created in view.of("optimizer.create"):
        for model in view.held_by(created.subject)[0]:
            if not isinstance(model, Instance) or not model.type.endswith(".from_pretrained") or model.site is None or model.under:
                continue
            if not any(_is_half(model.kwargs.get(name)) for name in ("torch_dtype", "dtype")) or id(model) in frozen:
                continue
            step = next((step for step in view.steps() if _over(view, step, model) is created.subject), None)
            moved = any(view.related_modules(event.subject, model) and "16" not in event.site.text() and "float" in event.site.text()
                        for event in view.of("module.move"))
            if step is not None and view.of("backward") and not moved and not _kept_elsewhere(view):
                roles = {"model": model.name or "model", "optimizer": view.owner_text(step, "optimizer")}
                yield Report(CODE, model.site, roles, [(step.site, "this step rounds to float16")])


def _is_half(value: Value | None) -> bool:
    alts = real(value)
    return bool(alts) and all(
        isinstance(alt, Ref) and alt.name in ("torch.float16", "torch.half") or isinstance(alt, Const) and alt.value == "float16"
        for alt in alts
    )


def _over(view: View, step: Event, module) -> Instance | None:
    """The optimizer of a step, if it is one of torch's and updates the parameters of that very module."""
    for optimizer in real(step.subject):
        if isinstance(optimizer, Instance) and isinstance(optimizer.cls, Ref) and optimizer.type.startswith("torch.optim."):
            if any(module is held for held in view.held_by(optimizer)[0]):
                return optimizer
    return None


def _kept_elsewhere(view: View) -> bool:
    files = {id(event.site.parsed.facts): event.site.parsed.facts for event in view.run.graph.events if event.site is not None}
    return any(_OTHERS.search(word) for facts in files.values() for word in facts.words if word not in ("float16", "copyfile"))
