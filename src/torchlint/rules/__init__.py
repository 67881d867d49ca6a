"""The matchers: what judges a run. A rule page names its form; a rule that no form can say has a matcher in its area's folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from types import ModuleType

from torchlint.catalogue.pages import AREAS, Rule
from torchlint.rules.base import Report, View
from torchlint.rules.forms import call, order, trait

# What may be said of a part that was run alone, its calls not followed: rules that speak of what stands there. Not those that
# miss something, which a call may have done, or ask where a part is called from, or what somebody else's code makes of it.
_OF_PARTS = frozenset(
    {107, 108, 114, 115, 116, 117, 134, 204, 205, 501, 504, 505, 507, 508, 510, 511, 520, 522, 523, 525, 607, 608, 612, 701, 705, 708,
     709, 712, 804, 810, 811, 901, 906, 941, 942, 943}
)
# What asks where a value comes from, and says something where that is not known: its caller may show it.
_OF_CALLERS = frozenset({601})
_NOT_OF_PARTS = frozenset({402, 403, 404, 424})

FORMS = {"order": order.check, "trait": trait.check, "call": call.check}


@lru_cache(maxsize=1)
def _modules() -> dict[int, ModuleType]:
    """The matchers' files by number: those in the areas' folders."""
    found = {}
    for area in AREAS.values():
        package = importlib.import_module(f"{__name__}.{area}")
        for info in pkgutil.iter_modules(package.__path__):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            found[module.CODE] = module
    return found


@lru_cache(maxsize=1)
def matchers() -> dict[int, Callable[[View], Iterator[Report]]]:
    """The matchers by number: every module in an area's folder has a CODE and a `check(view)`. Qualified names in its
    CALLS become `call` events; ".name" stands for a method of whatever (`method` events), "[]=" for `x[key] = value`
    (`item.set`)."""
    return {code: module.check for code, module in _modules().items()}


@lru_cache(maxsize=1)
def watched_by_matchers() -> dict[int, frozenset[str]]:
    """The names whose calls matchers want to see: `WATCHED` of their modules."""
    return {code: module.WATCHED for code, module in _modules().items() if hasattr(module, "WATCHED")}


def checks_of(rules: tuple[Rule, ...]) -> list[Callable[[View], Iterable[Report]]]:
    """What judges a run by each of the active rules, in their order."""
    own = matchers()
    found: list[Callable[[View], Iterable[Report]]] = []
    for rule in rules:
        if rule.code in own:  # it knows more of a line than a form does, and what is said first stays
            found.append(own[rule.code])
        for form, tables in rule.forms.items():
            if form in FORMS and rule.lint != "none":
                found.extend(_judge_by(FORMS[form], rule.code, table) for table in tables)
    return found


def _judge_by(form: Callable, code: int, table: dict) -> Callable[[View], Iterable[Report]]:
    return lambda view: form(view, code, table)


def of_parts(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that may speak of a part of a program that was run alone."""
    of_values = (rule for rule in rules if rule.code // 100 in (3, 4) and rule.code not in _NOT_OF_PARTS)
    return (*of_values, *(rule for rule in rules if rule.code in _OF_PARTS))


def of_orphans(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that may speak of what is run by itself only because what calls it was too much for one run."""
    return tuple(rule for rule in rules if rule.code not in _OF_CALLERS)


def watched_calls(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The qualified names whose calls some active rule wants to see."""
    names: set[str] = set()
    for rule in rules:
        names |= watched_by_matchers().get(rule.code, frozenset())
        for table in rule.forms.get("call", ()):
            names |= (own := call.names(table)) | {f"@{name}" for name in own if not name.startswith("torch.")}
        names |= getattr(_modules().get(rule.code), "CALLS", frozenset())
    return frozenset(names)
