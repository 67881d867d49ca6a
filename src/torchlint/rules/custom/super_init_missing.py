"""503: a module is used before nn.Module.__init__ has run."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import before
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Class, Instance, Ref, Tensor, real
from torchlint.rules.base import Report, View

CODE = 503


def check(view: View) -> Iterator[Report]:
    """The first layer assigned before the base's __init__, or an __init__ that never calls it."""
    root = view.run.root
    if root is None or root.name != "__init__" or root.home is None or not _plain_module(root.home):
        return
    inits = [event for event in view.of("super.init") if isinstance(event.subject, Instance) and event.subject.cls is root.home]
    early = None
    for event in view.of("setattr"):
        owner = event.subject
        if not isinstance(owner, Instance) or owner.cls is not root.home or not _layer(event.value):
            continue
        found, start = before(event, lambda other, owner=owner: other.kind in ("super.init", "unknown.init") and other.subject is owner)
        if start and not found:
            early = event
            break
    if inits:
        if early is not None:
            yield Report(CODE, early.site, {"name": root.home.name})
    elif early is not None or not view.of("unknown") and not view.run.graph.dead:
        definition, parsed = view.run.definition(root)
        if definition is not None:
            related = [(early.site, "the first layer is assigned here")] if early is not None else []
            yield Report(CODE, Site(parsed, definition.name), {"name": root.home.name}, related)


def _plain_module(cls: Class) -> bool:
    """Whether all bases are known, the outermost is nn.Module, and no metaclass or decorator steps in."""
    externals = cls.externals()
    if not externals or any(name != "torch.nn.Module" for name in externals):
        return False
    return not any(isinstance(item, Class) and (item.cf.keywords or item.cf.decorators or "__new__" in item.cf.methods) for item in cls.mro())


def _layer(value) -> bool:
    return any(
        isinstance(alt, Instance) and alt.kind in ("module", "loss", "wrapper") and isinstance(alt.cls, (Ref, Class))
        or isinstance(alt, Tensor) and alt.traits.get("param")
        for alt in real(value)
    )
