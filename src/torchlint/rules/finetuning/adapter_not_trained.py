"""004: an adapter is put into a model, and the training does not reach it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import happens_after
from torchlint.dryrun.values import Event, Value, real
from torchlint.rules.base import Report, View

CODE = 4
_THAWS = frozenset({"requires_grad", "requires_grad_", "unfreeze", "set_adapter", "add_adapter", "delete_adapter", "inference_mode"})
_LATE = (
    "`{optimizer}` took the parameters before `{call}` froze them and added the adapter's",
    "build the optimizer from the model that `{call}` gives",
)
_FROZEN = ("`{call}` loads the adapter for inference: all its parameters are frozen", "pass `is_trainable=True`")


def check(view: View) -> Iterator[Report]:
    """`PeftModel.from_pretrained(model, path)` that is trained, or an optimizer that was built before the adapter."""
    for event in view.of("adapt"):
        if event.trains is False and not _again(view, event):
            yield from _frozen(view, event)
        elif event.trains is True:
            yield from _too_late(view, event)


def _frozen(view: View, event: Event) -> Iterator[Report]:
    made = event.made
    if _THAWS & _words(event):
        return
    for other in view.of("trainer.create"):
        model = other.given.get("model")
        if real(model) == (made,) and "peft_config" not in other.given and "**" not in other.given:
            trained = [one for one in view.of("trainer.train") if any(alt is other.subject for alt in real(one.subject))]
            if trained:
                yield _report(view, event, _FROZEN, trained[0], "it is trained here")
                return
    for created in view.of("optimizer.create"):
        modules, tensors, complete = view.held_by(created.subject)
        if tensors or not complete or not modules or not all(module is made for module in modules):
            continue
        if any(step.subject is created.subject for step in view.steps()) and not _THAWS & _words(created):
            yield _report(view, event, _FROZEN, created, "the optimizer is given nothing that it could train")
            return


def _too_late(view: View, event: Event) -> Iterator[Report]:
    for created in view.of("optimizer.create"):
        modules, tensors, complete = view.held_by(created.subject)
        if tensors or not complete or not modules or not all(_is_base(view, module, event) for module in modules):
            continue
        if not happens_after(created, lambda other: other is event) or happens_after(event, lambda other: other is created):
            continue
        if _renewed(view, event, created) or _THAWS & _words(event) & {"requires_grad", "requires_grad_"}:
            continue
        step = next((one for one in view.steps() if one.subject is created.subject and happens_after(event, lambda other, one=one: other is one)), None)
        if step is not None:
            yield _report(view, event, _LATE, created, "the optimizer took the parameters here", view.owner_text(step, "optimizer"))
            return


def _is_base(view: View, module: Value, event: Event) -> bool:
    """Whether an optimizer's model is the one that gets the adapter, and not what comes of that."""
    return module is not event.made and any(alt is module for alt in real(event.subject))


def _renewed(view: View, event: Event, created: Event) -> bool:
    """Whether an optimizer is built, or told of new parameters, behind the adapter."""
    def renews(other: Event) -> bool:
        if other.kind == "optimizer.create":
            return other is not created
        return other.kind in ("optimizer.add", "load") and any(alt is created.subject for alt in real(other.subject))

    return happens_after(event, renews)


def _again(view: View, event: Event) -> bool:
    """Whether another adapter, one that is trained, is put into the same model: the first one was merged into it."""
    bases = (*real(event.subject), event.made)
    return any(
        other is not event and other.trains is not False and any(alt in bases for alt in real(other.subject)) for other in view.of("adapt")
    )


def _words(event: Event) -> frozenset[str]:
    return event.site.parsed.unit.words


def _report(view: View, event: Event, words: tuple[str, str], other: Event, why: str, optimizer: str = "") -> Report:
    call = event.site.parsed.text(event.site.node.func) if hasattr(event.site.node, "func") else "get_peft_model"
    happens, mend = (text.format(call=call, optimizer=optimizer) for text in words)
    return Report(CODE, event.site, {"happens": happens, "mend": mend}, [(other.site, why)])


