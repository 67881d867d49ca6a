"""516: a layer whose ReLU gives nothing but zeros, for any sample, from some step on. Records the share of units that
are silent, and of those that sit at the flat ends of sigmoid and tanh.

A look replaces torch's activation functions for the length of one forward (modules call them, too), at growing gaps; no
hook stays anywhere. Compiled code is not looked at.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

from torch import nn
from torch.compiler import is_compiling

from torchsan.check import Check
from torchsan.own import F, functools, torch
from torchsan.program.compiled import is_compiled
from torchsan.program.where import _OURS, Where, here, kind_of
from torchsan.stream.brief_patches import Brief
from torchsan.stream.events import Event, is_transformed, rest
from torchsan.stream.patches import Patches
from torchsan.stream.step_measures import measurable

_LOOKS, _STEPS = 8, 64  # a unit is called dead after so many looks and so many steps
# The gap between looks doubles with the steps so far, up to `_GAP`; from there on it is a share of them, or `_THOROUGH`.
_GAP, _SHARE, _THOROUGH = 8, 8, 4
_MOST = 256  # activations of a model that are followed
_FLAT = 0.97  # of tanh, and of 2 * sigmoid - 1: from there on less than a sixteenth of the slope is left
_NAMES = {"relu": "dead", "sigmoid": "saturated", "tanh": "saturated"}
# What makes units: the input of an activation comes out of one of these (the node itself, or the one before a view).
_SHAPES = ("View", "Reshape", "Add", "Transpose", "Permute")
_LAYERS = ("Addmm", "Mm", "Convolution", "BatchNorm", "LayerNorm", "GroupNorm", "RmsNorm")


class _Seen(NamedTuple):
    """One activation of a forward: what was called, the id of the layer that called it if that is torch's, the line, and by
    unit 1 where any sample was not silent (or not flat)."""

    kind: str
    function: str
    layer: int | None
    at: Where | None
    lively: torch.Tensor


class _Units:
    """One activation over time: by unit, how many looks it has been quiet for, and since which step."""

    def __init__(self, size: int, device: torch.device, step: int):
        self.looks = torch.zeros(size, dtype=torch.int32, device=device)
        self.since = torch.full((size,), step, dtype=torch.int32, device=device)

    def look(self, lively: torch.Tensor, step: int) -> torch.Tensor:
        """The share of units that are dead by now: nothing is read from the device."""
        self.looks = (self.looks + 1) * (1 - lively)
        self.since = torch.where(lively > 0, step, self.since)
        return ((self.looks >= _LOOKS) & (step - self.since >= _STEPS)).float().mean()


class SilentUnits(Check):
    """All units of a layer give zero, whatever goes in."""

    numbers = (516,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.next: dict[int, int] = self.ledger.while_alive({})  # by root: the step of the next look
        self.units: dict[tuple, _Units] = {}
        self.seen: list[_Seen] | None = None
        self.replaced = Brief()
        self.root: Any = None
        self.thread = 0
        self.inside = False
        self.is_full = False  # as many are seen as are followed: nothing is replaced for the rest of the forward

    def before_forward(self, event: Event) -> None:
        if event.depth:
            return
        if self._looks():
            if get_ident() != self.thread:
                return
            self._end()  # the forward that was looked at was interrupted
        if not (event.training and event.grad):
            return
        step = self.ledger.step
        root = id(event.subject)
        if step < self.next.get(root, 0):
            return
        share = 1 if rest.looks_are_dear else _SHARE
        gap = step or 1 if step < _GAP else _THOROUGH if self.thorough else max(_GAP, step // share)
        self.next[root] = step + gap
        if is_compiled(event.subject):
            self.next[root] = 1 << 62
        elif self.replaced.begin(self._replace):
            self.seen, self.root, self.thread = [], id(event.subject), get_ident()

    def on_forward(self, event: Event) -> None:
        # A forward of another thread may end meanwhile.
        if not event.depth and self._looks() and get_ident() == self.thread and id(event.subject) == self.root:
            self._end()
            seen, self.seen = self.seen or [], None
            if seen and event.output is not None:
                self._judge(seen, event.subject)

    def close(self) -> None:
        self._end()

    def _looks(self) -> bool:
        """Whether a forward is looked at, and nothing was compiled in it."""
        return self.is_full or self.replaced.stands

    def _end(self) -> None:
        self.is_full = False
        self.replaced.end()

    def _replace(self, patches: Patches) -> None:
        for home in (F, torch):
            for name in _NAMES:
                patches.method(home, name, functools.partial(self._wrapped, name))

    def _wrapped(self, name: str, original: Callable) -> Callable:
        made_by, take = self.safely(_made_by), self.safely(self._take)

        def activation(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or is_transformed():
                return original(*args, **kwargs)
            # torch's own functions call each other; and a forward of another thread is not the one that is looked at.
            if self.inside or self.seen is None or len(self.seen) >= _MOST or get_ident() != self.thread:
                return original(*args, **kwargs)
            made = made_by(args[0] if args else kwargs.get("input"))  # asked before: the call may work in place
            self.inside = True
            try:
                result = original(*args, **kwargs)
            finally:
                self.inside = False
            if made is not None:
                take(name, result, made, sys._getframe(1))
            return result

        return activation

    def _take(self, name: str, result: Any, made_by: str, caller: Any) -> None:
        """Which units are lively, without waiting for the device. Units lie along the channels, or else come last."""
        if self.seen is None or len(self.seen) >= _MOST or not measurable(result) or result.dim() < 2:
            return
        result = result.detach()
        channels = result.dim() > 3 or "Convolution" in made_by
        unit = 1 if channels or result.dim() == 2 else result.dim() - 1
        others = [axis for axis in range(result.dim()) if axis != unit]
        if result.shape[unit] < 2 or result.numel() == result.shape[unit]:
            return  # one unit, or one sample
        with torch.no_grad():
            if name == "relu":
                lively = result.amax(others) > 0
            else:
                slope = result if name == "tanh" else 2 * result - 1
                lively = slope.abs().amin(others) < _FLAT
        kind = _NAMES[name]
        layer = caller.f_locals.get("self") if kind_of(caller.f_code.co_filename) == _OURS else None
        layer = id(layer) if isinstance(layer, nn.Module) else None
        self.seen.append(_Seen(kind, name, layer, here(caller), lively.to(torch.int32)))
        if len(self.seen) == _MOST:
            self.is_full = True
            self.replaced.end()

    def _judge(self, seen: list[_Seen], root: nn.Module) -> None:
        step, shares, names = self.ledger.step, [], _names(seen, root)
        for at, (one, name) in enumerate(zip(seen, names)):
            key = self.root, at, one.kind, name, len(one.lively)
            known = self.units.get(key)
            if known is None or known.looks.device != one.lively.device:
                known = self.units[key] = _Units(len(one.lively), one.lively.device, step)
            shares.append(known.look(one.lively, step))
        if len({share.device for share in shares}) != 1:
            return

        def answer(values: Any) -> None:
            values = values if isinstance(values, list) else [values]
            counts = Counter(names)
            for at, (one, name, share) in enumerate(zip(seen, names, values)):
                name = f"{name} {at + 1}" if counts[name] > 1 else name
                self.watch.series.record(f"{one.kind}/{name}", step, share)
                if one.kind == "dead" and share == 1:
                    self._say(one, name, step)

        self.watch.late.ask(self, torch.stack(shares), answer)

    def _say(self, one: _Seen, name: str, step: int) -> None:
        self.found(
            516, one.at, key=(self.root, name), step=step, layer=name,
            fact=f"all {len(one.lively)} units, in {_LOOKS} looks or more over at least {_STEPS} steps",
            details={"units": len(one.lively)},
        )


def _names(seen: list[_Seen], root: nn.Module) -> list[str]:
    """What each activation is called: by its layer's path, or by the function where no layer of torch's called it."""
    asked = {one.layer for one in seen if one.layer is not None}
    paths: dict[int | None, str] = {}
    for path, part in nn.Module.named_modules(root) if asked else ():
        if id(part) in asked:
            paths[id(part)] = path
            if len(paths) == len(asked):
                break
    return [paths.get(one.layer) or one.function for one in seen]


def _made_by(given: Any) -> str | None:
    """What the input of an activation came out of, where that is a layer: then what it has are units."""
    node = getattr(given, "grad_fn", None)
    for _ in range(3):
        if node is None:
            return None
        name = type(node).__name__
        if any(part in name for part in _LAYERS):
            return name
        if not any(part in name for part in _SHAPES) or not node.next_functions:
            return None
        node = node.next_functions[0][0]
    return None


CHECKS = (SilentUnits,)
