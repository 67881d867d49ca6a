"""The words of a finding: the rule page's `message` and `help`, their roles filled in with what is known."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from torchlint.catalogue import pages as pages
from torchlint.catalogue.apis import holds, release
from torchlint.catalogue.pages import Catalogue, Rule
from torchsan.report.deliver import say
from torchsan.report.mends import MENDS, STAND_INS


class _Roles(string.Formatter):
    """Fills `{optimizer}` from the roles given; an unknown role is its own plain noun: "optimizer"."""

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        value = kwargs.get(str(key))
        return str(key).replace("_", " ") if value is None else value

    def format_field(self, value: Any, format_spec: str) -> str:
        return str(value)


def fill(template: str, roles: dict[str, Any]) -> str:
    """`template` with its role fields filled in. A template that is no template is given back as it is."""
    try:
        return _Roles().vformat(template, (), roles)
    except (ValueError, IndexError, AttributeError, KeyError):
        return template


def fields(template: str) -> set[str]:
    """The roles that a template has places for."""
    try:
        return {name for _, name, _, _ in _Roles().parse(template) if name}
    except ValueError:
        return set()


@lru_cache(maxsize=1)
def rules() -> Catalogue:
    """The catalogue; empty, with a word about it, where its pages cannot be read: a run must not end for that."""
    try:
        return pages.catalogue()
    except Exception as error:
        say(f"the rule pages cannot be read ({error}); findings will lack their usual words")
        return Catalogue(())


def extra(folders: Iterable[str]) -> dict[int, Rule]:
    """The pages in the user's folders by number; one that cannot be read is said and left out."""
    found = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.md")):
            try:
                page = pages.read_page(path)
                if not page.torch or holds(page.torch, _torch_release()):
                    found[page.code] = page
            except (OSError, ValueError) as error:
                say(str(error))
    return found


def _torch_release() -> tuple[int, int]:
    import torch

    return release(".".join(torch.__version__.split(".")[:2]))


def rule(number: int, fallback: str, own: Mapping[int, Rule] = MappingProxyType({})) -> Rule:
    """The page of a pitfall, the user's `own` first, or a stand-in that says `fallback` where there is none (yet)."""
    found = own.get(number) or rules().find(number)
    if found is not None:
        return found
    stand_in = MENDS.get(number) or STAND_INS.get(number)
    if stand_in is not None:
        name, summary, help = stand_in
        return Rule(number, name, summary, "correctness", "", "", help, "", "", "", {}, "", "")
    summary = fallback.strip().split("\n", 1)[0].rstrip(".")
    return Rule(number, f"pitfall-{number}", summary, "correctness", "", "", "", "", "", "", {}, "", "")
