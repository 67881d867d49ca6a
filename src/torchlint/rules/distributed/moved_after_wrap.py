"""803: a model is moved after DistributedDataParallel was put around it."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import before
from torchlint.dryrun.values import Const, Instance, real
from torchlint.rules.base import Report, View

CODE = 803


def check(view: View) -> Iterator[Report]:
    """`model = DistributedDataParallel(net, device_ids=[rank])`, then `model.to(device)`: the net is on the CPU until then."""
    for event in view.of("module.move"):
        wrapper = event.subject
        if not isinstance(wrapper, Instance) or wrapper.type != "torch.nn.parallel.DistributedDataParallel":
            continue
        inner = real(wrapper.args[0]) if wrapper.args else ()
        given = wrapper.arg(1, "device_ids")
        if given is None or isinstance(given, Const) or len(inner) != 1 or not _made_here(inner[0]):
            continue
        if event.name not in ("to", "cuda") or event.device in (None, "cpu") or _moved(view, event, inner[0]):
            continue
        wrap = next((wrap for wrap in view.of("wrap") if wrap.subject is wrapper), None)
        if wrap is not None:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, [(wrap.site, "wrapped here")])


def _made_here(module) -> bool:
    """Whether a module was built by this run, all of it, so that it is known where it stands."""
    return isinstance(module, Instance) and module.kind == "module" and module.site is not None and module.complete


def _moved(view: View, event, module) -> bool:
    """Whether the model, or something in it, was moved before, or may have been: then it goes nowhere now."""

    def moves(other) -> bool:
        if other.kind in ("unknown", "called"):
            return any(module in real(value) for value in (other.subject, *other.args))
        return other.kind == "module.move" and other is not event and view.related_modules(other.subject, module)

    found, _ = before(event, moves)
    return bool(found) or any("device" in word or word == "cuda" for word in _words(module))


def _words(module: Instance) -> set[str]:
    """The words of the class of a module, which may put itself on a device."""
    cls = module.cls
    units = cls.cf.methods.values() if hasattr(cls, "cf") else ()
    return {word for unit in units for word in unit.words} | {word for word in module.kwargs if "device" in word}
