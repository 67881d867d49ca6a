"""908: the state of a compiled model is saved, with `_orig_mod.` in every key."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.flow import before
from torchlint.dryrun.values import Dict, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.checkpoints import in_files

CODE = 908
CALLS = frozenset({"torch.compile"})


def check(view: View) -> Iterator[Report]:
    """`model = torch.compile(model)`, then `torch.save(model.state_dict(), path)`."""
    saves = view.of("save")
    compiled = [event for event in view.of("assign") if _compiles(event)] if saves else ()
    for save in saves if compiled else ():
        for state in _states(view, save.args[0] if save.args else None):
            owner = state.site.text().rsplit(".state_dict", 1)[0]
            for event in compiled:
                if event.site.parsed.text(event.target) != owner or event.site.parsed is not state.site.parsed or event.guards:
                    continue
                if state.origin not in real(event.subject) or in_files(view, save, r"_orig_mod|load_state_dict"):
                    continue
                found, _ = before(save, lambda other, event=event: other is event)
                if found:
                    yield Report(CODE, save.site, {"model": owner}, [(event.site, "compiled here")])


def _compiles(event) -> bool:
    """Whether a name is bound to what torch.compile gives."""
    node = getattr(event.site.node, "value", None)
    if not isinstance(node, cst.Call):
        return False
    return event.site.parsed.text(node.func) in ("torch.compile", "compile")


def _states(view: View, value: Value | None) -> list[Opaque]:
    """The states in what is saved, alone or in a dict."""
    found = []
    for alt in real(value):
        for item in view.run.known_items(alt) if isinstance(alt, Dict) else (alt,):
            if isinstance(item, Opaque) and "state_dict" in item.tags and item.site is not None and item.origin is not None:
                found.append(item)
    return found
