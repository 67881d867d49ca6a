"""The files of a project as the dry run needs them: found by import, read once, parsed by libcst unit by unit."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.dryrun.flow import take_apart
from torchlint.dryrun.source_text import Parsed, TooLong
from torchlint.dryrun.values import Event
from torchlint.files.reading import read_bytes
from torchlint.sieve.facts import FileFacts, Unit
from torchlint.sieve.reader import read_facts

if TYPE_CHECKING:
    from torchlint.dryrun.neighbours import Project

# Imports that are never a file of the project: looking for them on disk would only cost time.
OUTSIDE = frozenset(
    """torch torchvision torchaudio torchtext numpy scipy pandas sklearn matplotlib PIL cv2 tqdm os sys re io math time json
    copy random logging argparse pathlib collections functools itertools typing datetime shutil glob pickle subprocess
    abc dataclasses enum contextlib warnings string types inspect importlib unittest pytest transformers accelerate
    datasets pytorch_lightning lightning tensorboardX tensorboard wandb yaml timm einops ignite fastai deepspeed apex
    tensorflow keras jax requests gc struct socket threading multiprocessing signal hashlib operator heapq bisect csv
    tempfile traceback queue uuid platform getpass urllib http numbers decimal fractions statistics textwrap
    torch_geometric dgl ogb __future__""".split()
)
ROOT_MARKS = frozenset({".git", "pyproject.toml", "setup.py", "setup.cfg"})
MOST_LEVELS = 6
MOST_BYTES = 4_000_000


class World:
    """All files that were asked for so far. One per process.

    Args:
        roots: folders from which absolute imports resolve, besides what each file's place tells.
    """

    def __init__(self, roots: Sequence[str] = ()):
        self.roots = tuple(os.path.abspath(root) for root in roots)
        self._facts: dict[str, FileFacts | None] = {}
        self._trees: list[Unit] = []
        self._listing: dict[str, frozenset[str]] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self.hashes: dict[str, str | None] = {}
        self.asked: set[str] = set()
        self.events: list[Event] = []  # of all runs since the last `forget`
        self.project: Project | None = None  # the last one that was read: see neighbours.py

    def add(self, path: str, text: str) -> FileFacts:
        """Takes in a file whose text is at hand.

        Raises:
            SyntaxError: the text does not parse.
        """
        path = os.path.abspath(path) if path else path
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        known = self._facts.get(path)
        if known is None or known.digest != digest:
            self._facts[path] = known = read_facts(path, text)
            known.digest = digest
        return known

    def forget(self, most_trees: int = 400, most_files: int = 300) -> None:
        """Drops the events of finished runs, and what takes memory once there is much of it: libcst trees first, then what is
        known of files. Whoever imports a dropped file reads it again."""
        take_apart(self.events)
        if len(self._trees) > most_trees:
            for unit in self._trees:
                unit.parsed = None
            self._trees.clear()
        if len(self._facts) > most_files:
            self._facts.clear()

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file on disk; None if it cannot be read or does not parse."""
        self.asked.add(path)
        if path not in self._facts:
            found = None
            try:
                data = read_bytes(path, MOST_BYTES)
                self.hashes[path] = hashlib.sha256(data).hexdigest()
                text = data.decode("utf-8-sig")
                found = read_facts(path, text)
                found.digest = hashlib.sha256(text.encode()).hexdigest()
            except (OSError, UnicodeDecodeError, SyntaxError):
                self.hashes.setdefault(path, None)
            self._facts[path] = found
        elif path not in self.hashes:  # it came by `add`, as a text that need not be what is on disk
            try:
                self.hashes[path] = hashlib.sha256(read_bytes(path, MOST_BYTES)).hexdigest()
            except OSError:
                self.hashes[path] = None
        return self._facts[path]

    def parse(self, facts: FileFacts, unit: Unit) -> Parsed | None:
        """The libcst tree of a unit; None where libcst cannot parse what the C parser could."""
        if unit.parsed is None:
            self._trees.append(unit)
            try:
                unit.parsed = Parsed(facts, unit)
            except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError, TooLong):
                unit.parsed = False
        return unit.parsed or None

    def resolve(self, name: str, importer: str) -> str | None:
        """The file of the module `name` (with leading dots if relative) as `importer` would import it; None if it is not
        a file of the project."""
        found = self.find(name, importer)
        if found is not None:
            self.asked.add(found)
        return found

    def find(self, name: str, importer: str) -> str | None:
        """The same for those who do not go on to read it."""
        folder = os.path.dirname(importer)
        key = (folder, name)
        if key not in self._found:
            self._found[key] = self._search(name, folder)
        return self._found[key]

    def _search(self, name: str, folder: str) -> str | None:
        if name.startswith("."):
            parts = name.lstrip(".")
            for _ in range(len(name) - len(parts) - 1):
                folder = os.path.dirname(folder)
            return self._at(folder, parts.split(".") if parts else [])
        parts = name.split(".")
        if parts[0] in OUTSIDE:
            return None
        for _ in range(MOST_LEVELS):
            found = self._at(folder, parts) or self._at(os.path.join(folder, "src"), parts)
            if found or ROOT_MARKS & self._list(folder) or os.path.dirname(folder) == folder:
                if found:
                    return found
                break
            folder = os.path.dirname(folder)
        for root in self.roots:
            found = self._at(root, parts)
            if found:
                return found
        return None

    def _list(self, folder: str) -> frozenset[str]:
        if folder not in self._listing:
            try:
                self._listing[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._listing[folder] = frozenset()
        return self._listing[folder]

    def _at(self, folder: str, parts: list[str]) -> str | None:
        for part in parts[:-1]:
            if part not in self._list(folder):
                return None
            folder = os.path.join(folder, part)
        names = self._list(folder)
        if not parts:
            return os.path.join(folder, "__init__.py") if "__init__.py" in names else None
        if parts[-1] in names:
            inner = os.path.join(folder, parts[-1])
            if "__init__.py" in self._list(inner):
                return os.path.join(inner, "__init__.py")
        if parts[-1] + ".py" in names:
            return os.path.join(folder, parts[-1] + ".py")
        return None

    def is_package(self, name: str, importer: str) -> str | None:
        """The folder of a namespace package (one without __init__.py), if `name` is one."""
        if name.startswith(".") or name.split(".")[0] in OUTSIDE:
            return None
        folder = os.path.dirname(importer)
        for _ in range(MOST_LEVELS):
            inner = os.path.join(folder, *name.split("."))
            if os.path.isdir(inner):
                return inner
            if ROOT_MARKS & self._list(folder):
                break
            folder = os.path.dirname(folder)
        return None
