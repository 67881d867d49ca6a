"""708: torch.cuda.amp, now torch.amp with the device as an argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import table
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.torch_api.names import canonical
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Change, Mend
from torchlint.rules.mends.imports import Use, first_argument, imported_again, is_program, last_argument, span, use_at
from torchlint.rules.shared.deprecations import AMP, applies, rename
from torchlint.rules.shared.written_names import calls, qualified, second_choice

CODE = 708
WATCHED = frozenset(canonical(name) for name in table().deprecated if name.startswith(AMP))
# What the old autocast takes by position; the new one has the device first, and another order.
_POSITIONS = ("enabled", "dtype", "cache_enabled")


def check(view: View) -> Iterator[Report]:
    """`torch.cuda.amp.autocast()`, `GradScaler()` of torch.cuda.amp."""
    for event, name in calls(view):
        entry = table().deprecated.get(name)
        if entry is None or not name.startswith(AMP) or not applies(entry, view) or second_choice(event.site):
            continue
        device = name.split(".")[1]
        roles = {"name": name, "instead": entry.instead, "device": device}
        yield Report(CODE, event.site, roles, mend=_mend(event.site, entry.instead, device))


def _mend(site: Site, instead: str, device: str) -> Mend | None:
    """Names the device; where the name was imported, every use of it in the file."""
    message = f"use `{instead}` for {device}"
    change = rename(site, "", instead)
    if change is not None:
        use = use_at(site, qualified(site, site.node.func))
        more = _rewrite(site.parsed, use) if use is not None else None
        return Mend(message, [change, *more]) if more is not None else None
    root = site.node.func
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name):
        return None
    changes = imported_again(site.parsed, root.value, _rewrite, _moved)
    # Another file may take the name from this one, if this is none that is run by itself.
    return Mend(message, changes, is_program(site.parsed)) if changes is not None else None


def _moved(name: str) -> str | None:
    """torch.amp for torch.cuda.amp, and the same for what is in it."""
    if name in ("torch.cuda.amp", "torch.cpu.amp"):
        return "torch.amp"
    entry = table().deprecated.get(name)
    return entry.instead if entry is not None else None


def _rewrite(parsed: Parsed, use: Use) -> list[Change] | None:
    """A use with the device in it; a class may be named for other ends than to be called."""
    entry = table().deprecated.get(use.qualified)
    if entry is None:
        return None
    device, call = use.qualified.split(".")[1], use.parent
    called = isinstance(call, ast.Call) and call.func is use.node
    kind = entry.instead.rpartition(".")[2]
    if kind in ("custom_fwd", "custom_bwd"):
        if called:
            return None if call.args else _list(last_argument(parsed, call, f'device_type="{device}"'))
        bare = isinstance(call, ast.FunctionDef) and use.node in call.decorator_list
        return [Change(parsed, span(parsed, use.node), f'(device_type="{device}")', "stop")] if bare else None
    if kind == "GradScaler" and not called:
        return [] if _names_a_type(call, use.node) else None
    if not called or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if kind == "GradScaler" or not call.args:
        return _list(first_argument(parsed, call, f'"{device}"'))
    if len(call.args) > len(_POSITIONS):
        return None
    names = [f"{name}=" for name in _POSITIONS[: len(call.args)]]
    names[0] = f'"{device}", {names[0]}'
    return [Change(parsed, span(parsed, arg), name, "start") for arg, name in zip(call.args, names)]


def _names_a_type(parent: ast.AST, node: ast.expr) -> bool:
    """Whether a name stands in an annotation, or as the type in `isinstance(x, GradScaler)`."""
    if isinstance(parent, ast.Call):
        return getattr(parent.func, "id", "") == "isinstance" and parent.args[-1] is node
    return isinstance(parent, (ast.arg, ast.Subscript)) or getattr(parent, "annotation", None) is node


def _list(change: Change | None) -> list[Change] | None:
    return [change] if change is not None else None
