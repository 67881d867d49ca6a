"""808: the state of a wrapper is saved, with its name in every key."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Dict, Instance, Opaque, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.checkpoints import in_files

CODE = 808
_WRAPPERS = ("torch.nn.parallel.DistributedDataParallel", "torch.nn.parallel.DataParallel")


def check(view: View) -> Iterator[Report]:
    """`torch.save(ddp.state_dict(), path)` in a program that never loads such a state."""
    for event in view.of("save"):
        state = _state(view, event.args[0]) if event.args else None
        if state is None or state.site is None or in_files(view, event, r"module\.|\[7:\]|load_state_dict|\.module\b|removeprefix"):
            continue
        wrap = next((wrap for wrap in view.of("wrap") if wrap.subject is state.origin), None)
        if wrap is not None:
            owner = state.site.text().rsplit(".state_dict", 1)[0]
            roles = {"model": owner if len(owner) <= 40 else "model", "wrapper": state.origin.type.rsplit(".", 1)[-1]}
            yield Report(CODE, event.site, roles, [(wrap.site, "wrapped here")])


def _state(view: View, value: Value) -> Opaque | None:
    """The state of a wrapper in what is saved, alone or in a dict."""
    alts = real(value)
    if len(alts) != 1:
        return None
    if isinstance(alts[0], Dict):
        return next((state for item in view.run.known_items(alts[0]) if (state := _state_of(item)) is not None), None)
    return _state_of(alts[0])


def _state_of(value: Value) -> Opaque | None:
    if isinstance(value, Opaque) and "state_dict" in value.tags and isinstance(value.origin, Instance):
        if value.origin.kind == "wrapper" and value.origin.type in _WRAPPERS:
            return value
    return None
