"""`torchlint rules --test DIR`: whether pages of one's own find what they say, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click

from torchlint.catalogue.pages import Catalogue, catalogue
from torchlint.cli.status import FINDINGS
from torchlint.report import clean
from torchlint.run.page_blocks import wrong_in
from torchlint.settings.lookup import load
from torchlint.settings.rulebook import check_judged, load_rules, page_at, pages_in


def test_pages(folder: Path) -> int:
    """Judges the blocks of all pages in a folder, and prints a line for each that is not as its marks say.

    Returns:
        The exit status.

    Raises:
        PageError: a page cannot be used.
        click.UsageError: there are no pages.
    """
    try:
        pages = [page_at(path) for path in pages_in(folder)]
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise click.UsageError(f"--test: {str(folder)!r} {error}") from None
    check_judged(pages)
    config = load([folder])
    known = load_rules(config)
    own = {page.code for page in pages} - set(catalogue().rules)  # those that are installed may be the same pages
    known = Catalogue([*(rule for rule in known if rule.code not in own), *pages])
    wrong = blocks = 0
    for page in pages:
        blocks += len(list(page.examples()))
        head = _rows_before(page.path, page.text)
        for row, words in wrong_in(page, known, config.torch_version):
            wrong += 1
            print(clean(f"{page.path}:{head + row}: {words}"))
    count = f"{len(pages)} page{'' if len(pages) == 1 else 's'}, {blocks} block{'' if blocks == 1 else 's'}"
    print(f"{count}: {f'{wrong} wrong' if wrong else 'all as marked'}")
    return FINDINGS if wrong else 0


def _rows_before(path: str, body: str) -> int:
    """How many rows of a page stand before its text."""
    text = Path(path).read_text(encoding="utf-8").replace("\r\n", "\n")
    return text[: len(text) - len(body)].count("\n")
