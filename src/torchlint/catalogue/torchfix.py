"""The codes of TorchFix, which is archived: what they are called here. They are understood in `# noqa` comments and wherever
rules are selected or ignored, so that a project can change over without touching its files."""

from __future__ import annotations

import re

# By TorchFix's code: the rules that take its place. docs/torchfix.md says why others have none.
RULES: dict[str, tuple[int, ...]] = {
    "TOR001": (941,),
    "TOR002": (523,),
    "TOR003": (519,),
    "TOR004": (941,),
    "TOR101": (708, 942),
    "TOR102": (901,),
    "TOR103": (708, 942),
    "TOR106": (317,),
    "TOR107": (317,),
    "TOR108": (317,),
    "TOR201": (942,),
    "TOR401": (601,),
    "TOR402": (133,),
}
_CODE = re.compile(r"TOR\d{0,3}", re.IGNORECASE)


def rules_of(selector: str) -> frozenset[int] | None:
    """The numbers that a code of TorchFix, or the beginning of one, stands for; None where the text is no such code."""
    if not _CODE.fullmatch(selector):
        return None
    return frozenset(number for code, numbers in RULES.items() if code.startswith(selector.upper()) for number in numbers)
