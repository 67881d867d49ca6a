"""The matchers: what judges a run. A rule page names its form; `MATCHERS` holds the rules that need code of their own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import ModuleType

from torchlint.catalogue import Rule
from torchlint.rules import call, custom, order, trait
from torchlint.rules.base import Report, View

FORMS = {"order": order.check, "trait": trait.check, "call": call.check}


@lru_cache(maxsize=1)
def _modules() -> dict[int, ModuleType]:
    """The files in `rules/custom` by number."""
    found = (importlib.import_module(f"{custom.__name__}.{info.name}") for info in pkgutil.iter_modules(custom.__path__))
    return {module.CODE: module for module in found}


@lru_cache(maxsize=1)
def matchers() -> dict[int, Callable[[View], Iterator[Report]]]:
    """The custom matchers by number: every module in `rules/custom` has a CODE and a `check(view)`. Qualified names in its
    CALLS become `call` events; ".name" stands for a method of whatever (`method` events), "[]=" for `x[key] = value`
    (`item.set`)."""
    return {code: module.check for code, module in _modules().items()}


@lru_cache(maxsize=1)
def watched_by_matchers() -> dict[int, frozenset[str]]:
    """The names whose calls custom matchers want to see: `WATCHED` of their modules."""
    found = {}
    for info in pkgutil.iter_modules(custom.__path__):
        module = importlib.import_module(f"{custom.__name__}.{info.name}")
        if hasattr(module, "WATCHED"):
            found[module.CODE] = module.WATCHED
    return found


def judge(view: View, rules: tuple[Rule, ...]) -> Iterator[Report]:
    """All that the active rules say of one run."""
    own = matchers()
    for rule in rules:
        for form, tables in rule.forms.items():
            for table in tables:
                if form in FORMS:
                    yield from FORMS[form](view, rule.code, table)
        if rule.code in own:
            yield from own[rule.code](view)


def watched_calls(rules: tuple[Rule, ...]) -> frozenset[str]:
    """The qualified names whose calls some active rule wants to see."""
    names: set[str] = set()
    for rule in rules:
        names |= watched_by_matchers().get(rule.code, frozenset())
        for table in rule.forms.get("call", ()):
            names |= call.names(table)
        names |= getattr(_modules().get(rule.code), "CALLS", frozenset())
    return frozenset(names)
