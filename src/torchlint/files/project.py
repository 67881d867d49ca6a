"""The files of a project as text, above all those that import a file: read only where a finding depends on them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torchlint.files.modules import Modules
from torchlint.files.notebook import parse_notebook
from torchlint.files.reading import NO_SOURCE
from torchlint.files.search_path import added_folders
from torchlint.files.source import SourceError

MOST_BYTES = 4_000_000  # of a file
MOST_FILES = 1_000
MOST_FOLDERS = 1_000
_MOST_BYTES = 100_000_000  # of all files of a project
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^()]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))", re.MULTILINE
)
_NAME = re.compile(r"[.\w]+")


@dataclass(slots=True, eq=False)
class Neighbour:
    """A file of the project: its code without comments, what each of its imports may mean, and what that is: files, and names
    that no file was found for; and the folders that it puts on the import path."""

    path: str
    code: str
    digest: str
    wanted: tuple[tuple[str, ...], ...] = ()
    added: tuple[str, ...] = ()
    imports: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()


class Project:
    """The Python files and notebooks of one project, read once.

    Args:
        modules: finds what they import.
        root: the folder that holds them all.
        before: files as they were read earlier; those that are the same are not gone through again.
    """

    def __init__(self, modules: Modules, root: str, before: Mapping[str, Neighbour] | None = None):
        self.root = root
        self._before = before or {}
        self.files: dict[str, Neighbour] = {}
        self.folders: dict[str, str | None] = {}
        self.unread: dict[str, str | None] = {}
        self.questions: dict[str, str | None] = {}
        self._asked: set[tuple[str, str, tuple[str, ...]]] = set()  # imports, the folders that they stand in, and those added there
        self.complete = self._read(modules)
        if self.complete:
            self._ask_elsewhere(modules)

    def _read(self, modules: Modules) -> bool:
        """Reads all files; False where there are too many of them, or too much is in them."""
        todo, left, disk = [self.root], _MOST_BYTES, modules.disk
        while todo:
            folder = todo.pop()
            if len(self.folders) >= MOST_FOLDERS:
                return False
            self.folders[folder + os.sep] = disk.digest(folder + os.sep)
            files, folders = disk.listed(folder)
            todo.extend(os.path.join(folder, name) for name in folders)
            for name in files:
                if len(self.files) >= MOST_FILES or left < 0:
                    return False
                path = os.path.join(folder, name)
                try:
                    data = disk.read(path, MOST_BYTES)
                except OSError:
                    self.unread[path] = disk.digest(path)
                    continue
                left -= len(data)
                digest = hashlib.sha256(data).hexdigest()
                known = self._before.get(path)
                file = known if known is not None and known.digest == digest else _read(path, data, digest)
                self.files[path] = self._resolved(modules, folder, file)
        return True

    def _resolved(self, modules: Modules, folder: str, file: Neighbour) -> Neighbour:
        """The file with what its imports are found to be."""
        files: set[str] = set()
        unknown: set[str] = set()
        for wanted in file.wanted:
            self._asked.update((folder, name, file.added) for name in wanted)
            paths = [modules.module(folder, name, file.added) for name in wanted]
            files.update(found for found in paths if found is not None)
            if not any(paths):
                unknown.update(name.rsplit(".", 1)[-1] for name in wanted[:1])
        return replace(file, imports=frozenset(files), unknown=frozenset(unknown))

    def _ask_elsewhere(self, modules: Modules) -> None:
        """Notes the imports whose files are looked for where `folders` does not tell what comes and goes: above the project,
        in folders of what was made or installed, behind links."""
        elsewhere: dict[str, bool] = {}
        for folder, name, added in self._asked:
            inside = NO_SOURCE.isdisjoint(name.split("."))
            for place in modules.looked_in(folder, name, added) if inside else ():
                if place not in elsewhere:
                    elsewhere[place] = place + os.sep not in self.folders and (
                        modules.disk.exists(place) or os.path.dirname(place) + os.sep not in self.folders
                    )
                inside = inside and not elsewhere[place]
            asked = None if inside else modules.question("module", folder, name, added)
            if asked is not None:
                self.questions[asked[0]] = asked[1]

    def users(self, path: str) -> list[Neighbour]:
        """The files that import a file, by way of others too."""
        found: dict[str, Neighbour] = {}
        todo = [path]
        while todo:
            wanted = todo.pop()
            stem = _module_name(wanted)
            for other in self.files.values():
                if other.path == path or other.path in found:
                    continue
                if wanted in other.imports or stem in other.unknown:
                    found[other.path] = other
                    todo.append(other.path)
        return list(found.values())


def _read(path: str, data: bytes, digest: str) -> Neighbour:
    """What is known of a file of this content, before its imports are looked for: nothing, if it is no Python."""
    try:
        text = parse_notebook(path, data).text if path.endswith(".ipynb") else data.decode("utf-8-sig")
    except (UnicodeDecodeError, SourceError):
        return Neighbour(path, "", digest)
    code = without_comments(text.splitlines())
    imports: list[tuple[str, ...]] = []
    for module, names, plain in _IMPORT.findall(code):
        if plain:
            asked = [name for part in plain.split(",") if (name := _NAME.match(part.strip()))]
            imports.append(tuple(name[0] for name in asked))
        else:
            inside = module if module.endswith(".") else module + "."
            imports.append((module, *(inside + name for name in _NAME.findall(names))))
    return Neighbour(path, code, digest, tuple(filter(None, imports)), added_folders(text))


def without_comments(lines: list[str]) -> str:
    """The lines of a file up to their first #, which may stand in a string: then too little is left. Texts in three
    quotes, docstrings above all, are left out."""
    return IN_THREE_QUOTES.sub('""', "\n".join(line.split("#", 1)[0] for line in lines))


IN_THREE_QUOTES = re.compile(r"\"{3}.*?\"{3}|'{3}.*?'{3}", re.DOTALL)


def _module_name(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.basename(folder) if name == "__init__.py" else name.rsplit(".", 1)[0]
