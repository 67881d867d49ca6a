"""What a terminal, or the log reader of a CI server, would obey, written so that it is not: in text, JSON and XML."""

from __future__ import annotations

import re

# What GitHub and Azure take for a command wherever it stands in a line.
_COMMAND = re.compile(r"##(?=\[|vso\[)", re.IGNORECASE)
# What JSON and XML write as it is, and a terminal takes for a command, or for nothing at all.
_UNSEEN = re.compile(r"[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")


def without_commands(text: str) -> str:
    """The text, as long as it was, without commands."""
    return _COMMAND.sub("#\N{REPLACEMENT CHARACTER}", text)


def in_json(text: str) -> str:
    """The same data: whoever reads JSON gets what was there."""
    return _UNSEEN.sub(_escaped, _COMMAND.sub(r"#\\u0023", text))


def in_xml(text: str) -> str:
    """The same for XML."""
    return _UNSEEN.sub(lambda match: f"&#{ord(match[0])};", _COMMAND.sub("#&#35;", text))


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at:at + 4]}" for at in range(0, len(units), 4))
