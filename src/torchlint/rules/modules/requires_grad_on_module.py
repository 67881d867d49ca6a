"""522: `requires_grad` is set on a module, where nothing reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Event, Instance, Opaque, Value
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, code_of, replace

CODE = 522


def check(view: View) -> Iterator[Report]:
    """`layer.requires_grad = False`."""
    others = {event.site for event in view.of("flag.set") if not _certain(event)}
    for event in view.of("flag.set"):
        if event.name == "requires_grad" and event.site not in others and not _read(event) and not _asked(event):
            wanted = event.site.parsed.text(event.site.node).rpartition("=")[2].strip()
            name = owner_text(event)
            if name != "self":
                roles = {"module": name, "wanted": wanted if len(wanted) < 30 else "..."}
                yield Report(CODE, event.site, roles, mend=_mend(event.site))


def _mend(site: Site) -> Mend | None:
    """Calls the method that the attribute was taken for."""
    node = site.node
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    target = node.targets[0].target
    if not isinstance(target, cst.Attribute):
        return None
    return Mend("call `requires_grad_`", [replace(site, f"{code_of(site, target)}_({code_of(site, node.value)})")])


def _certain(event: Event) -> bool:
    """Whether the flag is set on a module: it is known to be one, or is asked for its weight or parameters."""
    if is_module(event.subject):
        return True
    if type(event.subject) is not Opaque or event.subject.source not in ("attr", "global", "param", "call"):
        return False
    used = re.compile(
        rf"(?<![\w.]){re.escape(owner_text(event))}\.(?:weight\b|(?:named_)?parameters\(|in_features\b|out_features\b)"
    )
    return any(used.search(line) for line in event.site.parsed.facts.lines)


def is_module(value: Value) -> bool:
    """Whether a value is a module for certain, with no meaning of its own for such an attribute."""
    if isinstance(value, Opaque):
        over = value.origin
        return "module" in value.tags and value.source == "item" and getattr(over, "kind", "") in _VIEWS
    if not isinstance(value, Instance) or value.kind not in ("module", "wrapper", "loss"):
        return False
    if isinstance(value.cls, Class):
        own = {"requires_grad", "__setattr__"}
        return not any(isinstance(item, Class) and own & item.cf.methods.keys() for item in value.cls.mro())
    return value.type.startswith(("torch.nn.", "torchvision.models."))


_VIEWS = frozenset({"modules", "children", "named_modules", "named_children"})


def owner_text(event: Event) -> str:
    """What stands before the flag's name where it is set."""
    node = event.site.node
    # Of several targets it is the one of that name: `frozen = layer.requires_grad = False`.
    flags = (item for item in walk(node) if isinstance(item, cst.Attribute) and item.attr.value == event.name)
    flag = next(flags, None)
    text = event.site.parsed.text(node if flag is None else flag.value)
    return text if len(text) <= 40 else "the module"


def _asked(event: Event) -> bool:
    """Whether a condition around it says that this is a parameter."""
    name = re.escape(owner_text(event))
    wanted = re.compile(rf"isinstance\(\s*{name}\s*,.*(?:Parameter|Tensor)|hasattr\(\s*{name}\s*,\s*.requires_grad")
    return any(holds and wanted.search(site.text()) for site, holds in event.guards)


def _read(event: Event) -> bool:
    """Whether the program reads the flag from modules itself."""
    return any(f"if {owner_text(event)}.requires_grad" in line for line in event.site.parsed.facts.lines)
