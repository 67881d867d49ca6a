"""Which rules are active: codes, prefixes, groups and names, the more specific one winning."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from torchlint.catalogue import torchfix
from torchlint.catalogue.pages import DEFAULT_GROUPS, GROUPS, Catalogue, Rule
from torchlint.settings.config import Config


class SelectorError(ValueError):
    """A selector that means no rule; the text says so, and what was perhaps meant."""


def rules_of(selector: str, catalogue: Catalogue) -> tuple[frozenset[int], int]:
    """The numbers of the rules that a selector means, and how specific it is.

    A selector is ALL, TL, a group, a prefix (TL1, TL10), a code (TL101, 101), a rule's name, or a code of TorchFix.

    Raises:
        SelectorError: it means no rule.
    """
    text = selector.strip()
    if text.upper() in ("ALL", "TL"):
        return frozenset(catalogue.rules), 0
    if text.lower() in GROUPS:
        return frozenset(rule.code for rule in catalogue if rule.group == text.lower()), 1
    prefix = re.fullmatch(r"(?:TL(\d{1,3})|(\d{3}))", text, re.IGNORECASE)
    if prefix:
        digits = prefix[1] or prefix[2]
        found = frozenset(code for code in catalogue.rules if f"{code:03d}".startswith(digits))
        if found:
            return found, 1 + len(digits)
    elif (named := torchfix.rules_of(text)) is not None:
        # What has no rule here selects nothing, but is no mistake.
        return named & frozenset(catalogue.rules), len(text) - 2
    elif rule := catalogue.find(text):
        return frozenset((rule.code,)), 4
    # For a number that is not taken, a number that looks like it is no help.
    hint = "" if prefix else nearest(text, _words(catalogue))
    raise SelectorError(f"{selector!r} is no rule, prefix or group{hint}")


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint to be put behind an error, `` (did you mean 'x'?)``, or an empty string where nothing is near."""
    import difflib

    known = {one.lower(): one for one in words}
    close = difflib.get_close_matches(word.lower(), known, 1, 0.6)
    return f" (did you mean {known[close[0]]!r}?)" if close else ""


def _words(catalogue: Catalogue) -> list[str]:
    return [*GROUPS, "ALL", *(rule.name for rule in catalogue)]


def active(
    catalogue: Catalogue,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    extend: Sequence[str] = (),
    start: Iterable[Rule] | None = None,
) -> tuple[Rule, ...]:
    """The active rules: those selected (all of `start`, or of the default groups, where nothing is selected) and those
    of `extend`, without the ignored ones. Where both name a rule the more specific selector wins, or else `ignore`.

    Raises:
        SelectorError: a selector means no rule.
    """
    chosen: dict[int, int] = {}
    if select is None and start is not None:
        chosen = {rule.code: -1 for rule in start}
    for selector in (*(DEFAULT_GROUPS if select is None and start is None else select or ()), *extend):
        codes, weight = rules_of(selector, catalogue)
        for code in codes:
            chosen[code] = max(weight, chosen.get(code, -1))
    for selector in ignore:
        codes, weight = rules_of(selector, catalogue)
        for code in codes:
            if chosen.get(code, weight) <= weight:
                chosen.pop(code, None)
    return tuple(rule for rule in catalogue if rule.code in chosen)


def asked_for(
    catalogue: Catalogue,
    config: Config,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    extend: Sequence[str] | None = None,
) -> tuple[Rule, ...]:
    """The rules that settings make active, and on top of them what one command, or call, asks for.

    Raises:
        SelectorError: a selector means no rule.
    """
    rules = active(catalogue, config.select, config.ignore, config.extend_select)
    return active(catalogue, select, ignore or (), extend or (), start=None if select else rules)


def check_all(selectors: Iterable[str], catalogue: Catalogue, complain: Callable[[str], Exception]) -> None:
    """Raise what `complain` makes of the first selector that means no rule."""
    for selector in selectors:
        try:
            rules_of(selector, catalogue)
        except SelectorError as error:
            raise complain(str(error)) from None
