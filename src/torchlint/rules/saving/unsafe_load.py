"""901: torch.load of a whole model, by whichever release: up to 2.5 it may run code, since 2.6 it raises."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Opaque, real
from torchlint.rules.base import Report, View

CODE = 901
CALLS = frozenset({"torch.load"})
_AS_MODEL = ("forward", "module.train", "module.eval", "optimizer.create")


def check(view: View) -> Iterator[Report]:
    """`model = torch.load(path)` and then `model.eval()` or `model(x)`, where no release of torch is known."""
    if view.torch_version is not None and view.torch_version < (2, 6):
        return  # what is left out is told of by the page's own form
    models = {alt.site for event in view.of(*_AS_MODEL) for alt in real(event.subject) if isinstance(alt, Opaque) and "loaded" in alt.tags}
    for event in view.of("call"):
        if event.name in CALLS and event.site in models and not event.kwargs.keys() & {"weights_only", "pickle_module", "**"}:
            then = "; since torch 2.6 it raises, because a whole model is no weights"
            if not any(given in real(save.args[1]) for given in real(event.args[0] if event.args else None)
                       for save in view.of("save") if len(save.args) > 1):
                yield Report(CODE, event.site, {"call": view.call_text(event.site), "then": then})
