"""Where something stands in a settings file: TOML readers do not tell, so it is looked for in the text."""

from __future__ import annotations

import re
from pathlib import Path


def line_of_excess(text: str) -> int:
    """The longest run of brackets or digits is what a TOML reader gives up on."""
    found = max(re.finditer(r"[\[{][\[{ ]*|[0-9_.]+", text), key=lambda match: match.end() - match.start(), default=None)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def line_of(text: str, path: Path | None, key: str, word: str) -> int:
    """The line of a key, or of a word in its value."""
    lines = text.split("\n")
    first = 0
    if path is not None and path.name == "pyproject.toml":
        header = re.compile(r"\s*\[\s*tool\s*\.\s*torchlint\b")
        first = next((number for number, line in enumerate(lines) if header.match(line)), 0)
    name = re.escape(key)
    if word:
        place = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    else:
        place = re.compile(rf"""\s*(?:["']?{name}["']?\s*[=.]|\[.*\b{name}["']?\s*\])|.*[{{,]\s*["']?{name}["']?\s*=""")
    found = next((number for number, line in enumerate(lines[first:], first + 1) if place.search(line)), None)
    if found is None:  # a word may be written with escapes: then the key's own line has to do
        return line_of(text, path, key, "") if word else first + 1
    return found
