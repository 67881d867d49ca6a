"""RESULTS.md: each benchmark writes its own part, between marks of its own."""

from __future__ import annotations

import re
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


def put(name: str, text: str, path: Path = RESULTS) -> None:
    """Put `text` between the marks of `name`, at the end of the file where they are not there yet."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    part = f"{start}\n{text.rstrip()}\n{end}\n"
    old = path.read_text(encoding="utf-8") if path.exists() else "# Results\n\n"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}\n", re.DOTALL)
    new = pattern.sub(lambda _: part, old) if pattern.search(old) else f"{old.rstrip()}\n\n{part}"
    path.write_text(new, encoding="utf-8")
