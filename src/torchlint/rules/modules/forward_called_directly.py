"""504: `model.forward(x)` instead of `model(x)`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Event, Instance, Opaque
from torchlint.rules.base import Report, View
from torchlint.rules.forms.call import TEST_FILE
from torchlint.rules.mends.changes import Mend, code_of, replace

CODE = 504


def check(view: View) -> Iterator[Report]:
    """A forward that is called by its name, on a module other than `self`."""
    for event in view.of("forward"):
        if not event.get("direct") or not _module(event) or TEST_FILE.search(event.site.path.replace("\\", "/")):
            continue
        func = getattr(event.site.node, "func", None)
        if not isinstance(func, cst.Attribute) or func.attr.value != "forward":
            continue
        owner = event.site.parsed.text(func.value)
        if owner in ("self", "cls") or owner.startswith("super("):
            continue
        roles = {"call": view.call_text(event.site), "model": owner if len(owner) <= 40 else "the module"}
        yield Report(CODE, event.site, roles, mend=_mend(event.site))


def _mend(site: Site) -> Mend | None:
    """Calls the module itself; hooks run then, which may be what the author kept away."""
    func = site.node.func if isinstance(site.node, cst.Call) else None
    if not isinstance(func, cst.Attribute) or func.attr.value != "forward" or func.lpar:
        return None
    return Mend("call the module", [replace(site, code_of(site, func.value), func)], safe=False)


def _module(event: Event) -> bool:
    value = event.subject
    if isinstance(value, Instance):
        own = isinstance(value.cls, Class) and value.cls.method("__call__") is not None
        return value.kind in ("module", "wrapper") and not own
    # The trainers of GAN repositories are called models, too, and their `forward()` takes what `set_input` has kept.
    return isinstance(value, Opaque) and "module" in value.tags and bool(event.args or event.get("kwargs"))
