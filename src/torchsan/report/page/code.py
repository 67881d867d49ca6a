"""A text for the page, with what stands between backticks as code."""

from __future__ import annotations

from typing import Any


def with_code(text: str) -> Any:
    """The text as HTML, everything escaped."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))
