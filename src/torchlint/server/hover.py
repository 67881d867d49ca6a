"""What is shown where somebody points at a finding, or at the code in a `# noqa` comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lsprotocol import types as lsp

from torchlint.catalogue.pages import Rule

_COMMENT = re.compile(r"#.*\bnoqa\b.*", re.IGNORECASE)
_CODE = re.compile(r"\bTL\d{3}\b", re.IGNORECASE)
_MARK = re.compile(r"[ \t]*# <- \d{3}(?:, ?\d{3})*[ \t]*$", re.MULTILINE)  # in the blocks of pages: for the tests
_BLOCK = re.compile(r"^```python[ \t]+.*$", re.MULTILINE)


def codes_in(row: str, column: int) -> tuple[str, int, int] | None:
    """The code in a `# noqa` comment that stands at a column of a row, and from where to where; None where none does."""
    comment = _COMMENT.search(row)
    if comment is None:
        return None
    found = (one for one in _CODE.finditer(row, comment.start()) if one.start() <= column <= one.end())
    return next(((one[0].upper(), one.start(), one.end()) for one in found), None)


def page(rule: Rule, said: Sequence[str] = ()) -> str:
    """A rule's page as Markdown.

    Args:
        rule: the rule.
        said: what was found, in words, to stand before it.
    """
    text = _BLOCK.sub("```python", _MARK.sub("", rule.text)).strip()
    link = f"[{rule.url}]({rule.url})\n\n" if rule.url else ""
    head = f"**TL{rule.code:03d} {rule.name}**: {rule.summary}"
    return "\n\n".join([*said, head, link + text])


def content(markdown: str, kinds: Sequence[lsp.MarkupKind | str]) -> lsp.MarkupContent:
    """The text in the form that the editor shows."""
    kind = lsp.MarkupKind.Markdown if not kinds or lsp.MarkupKind.Markdown in kinds else lsp.MarkupKind.PlainText
    return lsp.MarkupContent(kind, markdown)
