"""What inputs are grown from: the blocks of the rule pages, the fixtures, the examples, and folders that are named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from torchlint.catalogue.pages import catalogue

ROOT = Path(__file__).parents[2]
_LARGEST = 60_000  # bytes: mutants of more than this would be slow, and no better


class Seeds(msgspec.Struct):
    """Blocks are short programs that some rule speaks of; files are whole ones; books are notebooks, as JSON text."""

    blocks: list[str]
    files: list[str]
    books: list[str]


def read_seeds(folders: Sequence[Path] = ()) -> Seeds:
    """The seeds in the repository and in `folders`, in an order that is the same everywhere."""
    found = Seeds([block.code for rule in catalogue() for block in rule.examples()], [], [])
    for folder in (ROOT / "fixtures", ROOT / "examples", *folders):
        for path in _files(folder):
            text = path.read_bytes().decode("utf-8", "replace")
            (found.books if path.suffix == ".ipynb" else found.files).append(text)
    return found


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".ipynb") and path.is_file() and path.stat().st_size <= _LARGEST:
            yield path
