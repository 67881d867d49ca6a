"""Layers that stand as the default of a parameter, `def __init__(self, width, act=nn.PReLU())`: made once, where the function is defined."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import libcst as cst

from torchlint.dryrun.alternatives import chosen
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Instance, exclude_each_other
from torchlint.rules.base import View


def shared_defaults(view: View) -> Iterator[tuple[Site, str]]:
    """Such layers with weights that several places of one model hold, with the name of the parameter."""
    holders: dict[Site, list[int]] = {}
    made: dict[int, Instance] = {id(event.subject): event.subject for event in view.of("setattr") if isinstance(event.subject, Instance)}
    above: dict[int, list[int]] = {}
    for owner, children in view.run.children.items():
        for child in children:
            above.setdefault(id(child), []).append(owner)
            if isinstance(child, Instance):
                made[id(child)] = child
                if child.site is not None and child.kind == "module" and _default_of(child.site) and view.may_learn(child):
                    holders.setdefault(child.site, []).append(owner)
    for site, owners in holders.items():
        around = {owner: _around(owner, above) for owner in owners}
        inner = [owner for owner in around if not any(owner in others for others in around.values())]
        if any(around[one] & around[other] and _both(made.get(one), made.get(other)) for one, other in combinations(inner, 2)):
            yield site, _default_of(site)


def _default_of(site: Site) -> str:
    """The name of the parameter whose default a call is; "" where it is none."""
    around = next(iter(site.parsed.around(site.node)), None)
    return around.name.value if isinstance(around, cst.Param) and around.default is site.node else ""


def _around(module: int, above: dict[int, list[int]]) -> set[int]:
    """The modules that one is in, by id."""
    found: set[int] = set()
    waiting = [module]
    while waiting:
        for owner in above.get(waiting.pop(), ()):
            if owner not in found:
                found.add(owner)
                waiting.append(owner)
    return found


def _both(one: Instance | None, other: Instance | None) -> bool:
    """Whether a model may have both modules: not where one stands for the other."""
    if one is None or other is None:
        return False
    return not exclude_each_other(chosen(one, (one, other)), chosen(other, (one, other)))
