"""What files hold now, as far as verdicts hang on it: read once a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.files.modules import Modules, is_question
from torchlint.files.source import SourceError
from torchlint.sieve.glimpse import Glimpse

if TYPE_CHECKING:
    from torchlint.sieve.facts import FileFacts


class Digests:
    """The sha256 of files, read once a run; None for what is no file. A path with a separator at its end stands for what a
    folder holds, a question of `modules.py` for its answer.

    Args:
        roots: folders that the project's absolute imports start from.
        modules: what answers questions, with the disk that files are read from; its own where None.
    """

    def __init__(self, roots: Sequence[str] = (), modules: Modules | None = None) -> None:
        self._known: dict[str, str | None] = {}
        self._facts: dict[str, FileFacts | None] = {}
        self._texts: dict[str, str] = {}
        self._modules = modules or Modules(roots)

    def of(self, path: str) -> str | None:
        """The hex digest of the file at `path`; None where there is none or it cannot be read."""
        try:
            return self._known[path]
        except KeyError:
            try:
                digest = self._modules.again(path) if is_question(path) else self._modules.disk.digest(path)
            except ValueError:
                digest = None
            self._known[path] = digest
            return digest

    def show(self, path: str, glimpse: Glimpse, files: Iterable[str]) -> bool:
        """Whether the file at `path` still shows what was looked at in it, by a verdict that hangs on `files`."""
        if path not in self._facts:
            from torchlint.files.parse import parse_source
            from torchlint.files.project import MOST_BYTES
            from torchlint.sieve.reader import read_facts

            try:
                self._facts[path] = read_facts(path, parse_source(path, self._modules.disk.read(path, MOST_BYTES)).text)
            except (OSError, SourceError, SyntaxError):
                self._facts[path] = None
        facts = self._facts[path]
        if facts is None:
            return False
        from torchlint.sieve.looks import holds

        return holds(glimpse, facts, lambda: self._without(path, files))

    def _without(self, path: str, files: Iterable[str]) -> Iterator[str]:
        """The texts of files, but for one of them."""
        from torchlint.files.project import MOST_BYTES

        for at in files:
            if at != path and not at.endswith(os.sep) and not is_question(at):
                if at not in self._texts:
                    try:
                        self._texts[at] = self._modules.disk.read(at, MOST_BYTES).decode("utf-8", "replace")
                    except (OSError, ValueError):
                        self._texts[at] = ""
                yield self._texts[at]
