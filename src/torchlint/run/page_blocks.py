"""The tests that a rule page brings along: its blocks, judged, against its marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchlint.catalogue.pages import DEFAULT_GROUPS, Catalogue, Example, PageError, Rule
from torchlint.engine import Engine
from torchlint.settings.rulebook import matchers_of

_FILENAME = "example.py"


def wrong_in(page: Rule, known: Catalogue, version: tuple[int, int] | None = None) -> Iterator[tuple[int, str]]:
    """The row of the page's text and a line for each thing that is not as its blocks say.

    Args:
        page: the rule.
        known: all rules. A block is judged by those of the default groups and by the page's own.
        version: the torch release to judge by.
    """
    blocks = list(page.examples())
    for kind in ("bad", "good"):
        if not any(kind in block.flags for block in blocks):
            yield 1, f"has no {kind} block"
    engine = Engine([rule for rule in known if rule.group in DEFAULT_GROUPS or rule.code == page.code], version, matchers=matchers_of([page]))
    for block in blocks:
        if block.bad == block.good:
            yield block.line, "a block is either bad or good"
            continue
        try:
            yield from _wrong(page, block, engine)
        except (PageError, SyntaxError) as error:
            yield block.line, f"the block cannot be judged: {error}"


def _wrong(page: Rule, block: Example, engine: Engine) -> Iterator[tuple[int, str]]:
    expected = block.marks()
    if block.good and expected:
        yield block.line, "a good block has a mark"
    elif block.bad and page.code not in {number for _, number in expected}:
        yield block.line, f"a bad block has no mark `# <- {page.code:03d}`"
    if page.lint == "none":
        expected = Counter({mark: count for mark, count in expected.items() if mark[1] != page.code})
    judged = engine.check(_FILENAME, block.code)
    for failed in judged.failed:
        yield block.line, failed
    found = Counter((finding.location.row, finding.number) for finding in judged.findings)
    for row, number in sorted((found - expected).keys()):
        yield block.line + row, f"TL{number:03d} is found, and not marked"
    for row, number in sorted((expected - found).keys()):
        yield block.line + row, f"TL{number:03d} is marked, and not found"
