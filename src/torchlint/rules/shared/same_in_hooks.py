"""Data sets that the `val_dataloader` of a LightningModule makes of the same things as its `train_dataloader`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Instance, Opaque
from torchlint.rules.base import View
from torchlint.rules.shared.loaders import created
from torchlint.rules.shared.same_data import OTHERS, Twice, is_changed, said, telling, whole
from torchlint.rules.shared.surroundings import bound, read
from torchlint.sieve.facts import Unit

_TRAINS = "train_dataloader"
_EVALUATE = frozenset({"val_dataloader", "test_dataloader"})
_SAMPLERS = frozenset({"sampler", "batch_sampler"})


def made_twice_by_hooks(view: View) -> Iterator[Twice]:
    """`MNIST("data", train=True)` in `val_dataloader`, as in `train_dataloader`, and each is the whole of what a loader goes through."""
    for _, loader in created(view):
        unit = loader.site.parsed.unit if loader.site is not None else None
        if unit is None or unit.name not in _EVALUATE:
            continue
        data, trains = whole(loader), _hook_beside(loader.site, unit)
        parsed = view.run.world.parse(loader.site.parsed.facts, trains) if data is not None and trains is not None else None
        trained = _same_in(parsed, data) if parsed else None
        if trained is not None:
            yield Twice(data.site, trained, unit.name)


def _hook_beside(site: Site, unit: Unit) -> Unit | None:
    """The `train_dataloader` of the class whose method a loader is made in."""
    classes = (cls for cls in site.parsed.facts.all_classes() if cls.methods.get(unit.name) is unit)
    return next((cls.methods.get(_TRAINS) for cls in classes), None)


def _same_in(parsed: Parsed, data: Instance | Opaque) -> Site | None:
    """The call in a method that makes the same data, and hands all of them to a loader."""
    own = data.site.parsed
    texts, called = said(own, data.site.node, data), own.text(data.site.node.func)
    if not texts or OTHERS.search(own.text(data.site.node)) or not _is_the_same_there(own, parsed, data.site.node):
        return None
    for loader in walk(parsed.module):
        for made in _handed(parsed, loader):
            if parsed.text(made.func) == called and said(parsed, made, data) == texts:
                site = Site(parsed, made)
                if not is_changed(site, Site(parsed, loader)):
                    return site
    return None


def _is_the_same_there(own: Parsed, parsed: Parsed, call: cst.Call) -> bool:
    """Whether the arguments that tell the samples mean the same in both methods: no names of their own, nothing called, and no
    attribute that is set more than once."""
    given = [arg.value for arg in telling(call)]
    names = {name for value in given for name in read(value)}
    if any(isinstance(node, cst.Call) for value in given for node in walk(value)):
        return False
    if names & (bound(own.module) | bound(parsed.module) | {param for unit in (own.unit, parsed.unit) for param in unit.params if param != "self"}):
        return False
    code = "".join(own.facts.lines)
    return all(len(re.findall(rf"\bself\.{re.escape(name)}\s*=(?!=)", code)) <= 1 for name in names)


def _handed(parsed: Parsed, loader: cst.CSTNode) -> list[cst.Call]:
    """The calls that make what a loader is given as its data set, on one path or another, if it goes through all of it."""
    if not isinstance(loader, cst.Call) or not parsed.text(loader.func).endswith("DataLoader"):
        return []
    if any(arg.star or arg.keyword is not None and arg.keyword.value in _SAMPLERS for arg in loader.args):
        return []
    data = next((arg.value for arg in loader.args if arg.keyword is not None and arg.keyword.value == "dataset"), None)
    data = data if data is not None or not loader.args or loader.args[0].keyword is not None else loader.args[0].value
    if isinstance(data, cst.Call):
        return [data]
    if not isinstance(data, cst.Name):
        return []
    sets = (node for node in walk(parsed.module) if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call))
    return [node.value for node in sets if any(isinstance(t.target, cst.Name) and t.target.value == data.value for t in node.targets)]
