"""Whether a file that never names torch leads to what does: a thin main file, which makes an agent and lets it learn."""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Iterator

from torchlint.files.modules import OUTSIDE, Modules
from torchlint.files.parse import parse_source
from torchlint.files.search_path import added_folders
from torchlint.files.source import SourceError
from torchlint.sieve.facts import FileFacts
from torchlint.sieve.imports import note_imports
from torchlint.sieve.may_matter import may_matter

_DOES = re.compile(r"^\s*(?:async )?(?:for|while)\b|__main__", re.MULTILINE)
# Programs that only use a model cost as much to follow, and there is little to find in them that their parts do not show.
_TRAINS = re.compile(r"train|fit|learn|updat|optimi|epoch|episode|step|backward", re.IGNORECASE)
_DEPTH = 3  # files between a file and one that names torch
_MOST_FILES = 60  # that are looked into for one file


class Leads:
    """What files of the projects import, each read once.

    Args:
        modules: finds what is imported.
        more: words besides torch's that make a file matter.
    """

    def __init__(self, modules: Modules, more: Iterable[bytes] = ()):
        self._modules, self._more = modules, tuple(more)
        self._files: dict[str, tuple[str | None, bool, tuple[str, ...], tuple[str, ...]]] = {}

    def forget(self) -> None:
        """Files may have changed since the last question."""
        self._files.clear()

    def lead(self, path: str, text: str) -> tuple[bool, dict[str, str | None]]:
        """Whether a file trains something, in a loop or as a program, with files that name torch; and what that hangs on: paths and
        questions with what stands for their answers (see `modules.py`).

        Raises:
            SyntaxError: the text does not parse.
        """
        names = _imports(path, text)
        depends: dict[str, str | None] = {}
        if not names or not path or not _DOES.search(text) or not _TRAINS.search(text):
            return False, depends
        todo = [(os.path.abspath(path), names, added_folders(text), 0)]
        seen: set[str] = {todo[0][0]}
        while todo and len(seen) < _MOST_FILES:
            importer, names, added, depth = todo.pop(0)
            for found in self._found(os.path.dirname(importer), names, added, depends):
                if found in seen:
                    continue
                seen.add(found)
                digest, matters, inner, more = self._read(found)
                depends[found] = digest
                if matters:
                    return True, depends
                if depth < _DEPTH:
                    todo.append((found, inner, more, depth + 1))
        return False, depends

    def _found(
        self, folder: str, names: tuple[str, ...], added: tuple[str, ...], depends: dict[str, str | None]
    ) -> Iterator[str]:
        """The files of the project that some names are imported from."""
        for name in names:
            for wanted in (name, name.rpartition(".")[0]):
                if not wanted.strip(".") and wanted == "":
                    continue
                asked = self._modules.question("module", folder, wanted, added)
                if asked is not None:
                    depends.setdefault(*asked)
                path = self._modules.module(folder, wanted, added)
                if path is not None:
                    yield path
                    break

    def _read(self, path: str) -> tuple[str | None, bool, tuple[str, ...], tuple[str, ...]]:
        if path not in self._files:
            try:
                data = self._modules.disk.read(path)
                text = parse_source(path, data).text
                matters = may_matter(text, self._more)
                names = () if matters else _imports(path, text)
                self._files[path] = hashlib.sha256(data).hexdigest(), matters, names, added_folders(text) if names else ()
            except (OSError, ValueError, SourceError, SyntaxError):
                self._files[path] = self._modules.disk.digest(path), False, (), ()
        return self._files[path]


def _imports(path: str, text: str) -> tuple[str, ...]:
    """The qualified names that a file imports, but for what is never of a project.

    Raises:
        SyntaxError: the text does not parse.
    """
    try:
        tree = ast.parse(text, path)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "too deeply nested") from None
    facts = FileFacts(path, [])
    for node in tree.body:
        note_imports(node, facts)
    names = dict.fromkeys([*facts.imports.values(), *facts.stars])
    return tuple(name for name in names if name.partition(".")[0] not in OUTSIDE)
