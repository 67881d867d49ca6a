"""What a stretch of a program does while it runs, and whether all of that was seen: what a fix must know that wraps it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from torchlint.catalogue.apis import keywords
from torchlint.dryrun.containers import CONTAINERS
from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.values import (
    Class,
    Dict,
    Event,
    Func,
    Instance,
    Method,
    Opaque,
    Partial,
    Seq,
    Tensor,
    Value,
    real,
)
from torchlint.rules.base import View
from torchlint.sieve.facts import Unit

# What asks autograd for something, or changes what it records.
GRADIENTS = ("backward", "autograd.grad", "optimizer.step", "optimizer.zero_grad", "inplace.flag", "flag.set")
# Libraries that know nothing of torch, or only rearrange: what they are given comes to no backward.
_WITHOUT_TORCH = frozenset("numpy einops scipy sklearn skimage pandas matplotlib seaborn PIL cv2 imageio tqdm yaml gym gymnasium".split())
_TRANSFORMS = "torchvision.transforms."
# Methods of strings, files, loggers, writers and progress bars, which no other object is asked for.
_OF_TEXT = frozenset(
    """format join split strip startswith endswith lower upper write flush info debug warning add_scalar add_scalars
    set_postfix set_postfix_str set_description""".split()
)
_OF_AUTOGRAD = frozenset({"apply_", "backward", "map_", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad"})
_CALLABLE = (Func, Method, Partial, Class)


def during(view: View, parsed: Parsed, first: int, last: int) -> list[Event]:
    """The events that may happen while some rows of a tree run, those of functions and modules that they call too."""
    rows = range(first, last + 1)
    inside = [event for event in view.run.graph.events if any(_stands(site, parsed, rows) for site in (event.site, *event.calls))]
    return [*inside, *within(view, [event for event in inside if event.kind == "forward"])]


def within(view: View, forwards: list[Event]) -> list[Event]:
    """The events within some forwards, and within those of the modules that they call. A forward is run once for several
    calls, and perhaps in another run or in the first pass of a loop, which is forgotten: so these are all events ever met in a
    forward that something called."""
    found: list[Event] = []
    units: set[Unit] = set()
    while forwards:
        new = {unit for event in forwards for unit in _forwards(event)} - units
        units |= new
        more = [
            event for event in view.run.graph.made
            if new and any(site is not None and site.parsed.unit in new for site in (*event.calls, event.site)[1:])
        ]
        found += more
        forwards = [event for event in more if event.kind == "forward"]
    return found


def _stands(site: Site | None, parsed: Parsed, rows: range) -> bool:
    return site is not None and site.parsed is parsed and site.location().row in rows


def _forwards(event: Event) -> Iterator[Unit]:
    """What runs in a call of a module of the project."""
    for alt in real(event.subject):
        found = alt.cls.method("forward") if isinstance(alt, Instance) and isinstance(alt.cls, Class) else None
        if found is not None:
            yield found[1]


def unseen(event: Event) -> bool:
    """Whether an event is a call of something that cannot be seen, and that may do anything: not a method that tensors or
    strings have, not a function of a library that knows nothing of torch. A call of what is a module for certain is none."""
    if event.kind == "called":
        return not is_module(event.subject) and not _is_a_transform(event.subject) and not _is_a_layer_by_name(event.subject)
    if event.kind != "unknown":
        return False
    name = event.get("name") or ""
    if name.startswith(_TRANSFORMS):
        return False
    owner = event.subject
    made_by = owner.name if type(owner) is Opaque and owner.source == "call" and "." in (owner.name or "") else name  # `gym.make("Ant").step(x)`
    package, _, rest = made_by.partition(".")
    if rest and (package in _WITHOUT_TORCH or package in sys.stdlib_module_names):
        return any(isinstance(alt, _CALLABLE) or is_module(alt) for value in event.args for alt in real(value))
    if event.subject is None or isinstance(event.subject, Instance):
        return True
    return name not in _OF_TEXT and (keywords(f"torch.Tensor.{name}") is None or name in _OF_AUTOGRAD)


def _is_a_layer_by_name(value: Value | None) -> bool:
    """Whether a value is what a module keeps under a name that is put together, `getattr(self, f"layer{i}")`, and that is called."""
    alts = real(value)
    return bool(alts) and all(
        type(alt) is Opaque and alt.source == "call" and not alt.name and isinstance(alt.origin, Instance) and alt.origin.kind == "module"
        for alt in alts
    )


def _is_a_transform(value: Value | None) -> bool:
    """Whether a value is one of torchvision's transforms, which goes backward through nothing by itself: `transforms.ToPILImage()`."""
    alts = real(value)
    return bool(alts) and all(type(alt) is Opaque and alt.source == "call" and (alt.name or "").startswith(_TRANSFORMS) for alt in alts)


def is_module(value: Value | None) -> bool:
    """Whether a value is a module, as far as anything that the program does with it tells."""
    return bool(real(value)) and all(
        alt.kind in ("module", "wrapper", "loss") if isinstance(alt, Instance) else isinstance(alt, Opaque) and ("module" in alt.tags or _of_modules(alt))
        for alt in real(value)
    )


def _of_modules(value: Opaque) -> bool:
    """Whether a value is an item of a container of modules: `self.layers[i]`."""
    return value.source == "item" and isinstance(value.origin, Instance) and value.origin.type in CONTAINERS


def made_of(view: View, value: Value | None) -> Iterator[Value]:
    """A value, what it was computed from, and what is in the lists among them."""
    for alt in real(value):
        for part in (alt, *alt.parts):
            yield part
            if isinstance(part, (Seq, Dict)):
                for item in view.run.known_items(part):
                    yield from real(item)


def carries(view: View, value: Value | None, forward: Event) -> bool:
    """Whether a value may hold the graph that a forward built."""
    for alt in real(value):
        if isinstance(alt, (Seq, Dict)):
            if any(carries(view, item, forward) for item in view.run.known_items(alt) if item is not alt):
                return True
        elif forward in alt.flows and not (isinstance(alt, Tensor) and alt.traits.get("graph") is False):
            return True
    return False
