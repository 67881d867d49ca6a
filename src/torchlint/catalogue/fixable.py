"""Which rules give fixes, and of which kind: safe, unsafe, or both. docs/fixes.md says why; a test holds the two together, and
holds them against what the rules do."""

from __future__ import annotations

FIXABLE = {
    5: "both",
    106: "both",
    132: "both",
    133: "unsafe",
    134: "unsafe",
    202: "both",
    204: "safe",
    402: "both",
    405: "both",
    406: "safe",
    501: "unsafe",
    502: "unsafe",
    503: "safe",
    504: "unsafe",
    519: "unsafe",
    522: "both",
    523: "both",
    701: "unsafe",
    708: "both",
    811: "safe",
    901: "unsafe",
    904: "safe",
    906: "both",
    909: "unsafe",
    941: "safe",
    942: "both",
    943: "unsafe",
}


def kind_of(code: int, forms: dict[str, tuple[dict[str, object], ...]]) -> str:
    """"safe", "unsafe", "both" or "" for the rule with a number; pages of one's own say it in their `call` forms."""
    given = {"unsafe" if call.get("unsafe") else "safe" for call in forms.get("call", ()) if call.get("fix")}
    told = "both" if len(given) > 1 else next(iter(given), "")
    return FIXABLE.get(code, told)
