"""Which file of a project an import means. What was asked and what came of it is part of what a verdict depends on, so the
cache asks it again: a file that was looked for in vain may have come, or one that is nearer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from torchlint.files.disk import Disk
from torchlint.files.search_path import BESIDE

# Imports that are never a file of the project: looking for them on disk would only cost time.
OUTSIDE = frozenset(
    """torch torchvision torchaudio torchtext numpy scipy pandas sklearn matplotlib PIL cv2 tqdm os sys re io math time json
    copy random logging argparse pathlib collections functools itertools typing datetime shutil glob pickle subprocess
    abc dataclasses enum contextlib warnings string types inspect importlib unittest pytest transformers accelerate
    pytorch_lightning lightning tensorboardX tensorboard wandb yaml timm einops ignite fastai deepspeed apex
    tensorflow keras jax requests gc struct socket threading multiprocessing signal hashlib operator heapq bisect csv
    tempfile traceback queue uuid platform getpass urllib http numbers decimal fractions statistics textwrap
    torch_geometric dgl ogb __future__""".split()
)
# Names of libraries that many projects have a file of their own under. A folder of data is none: the library is meant then.
SHARED = frozenset({"datasets"})
ROOT_MARKS = frozenset({".git", ".hg", "pyproject.toml", "setup.py", "setup.cfg"})  # of the top of a project; see `is_top`
INSTALLED = frozenset({"site-packages", "dist-packages"})  # folders of packages that are no project together
MOST_LEVELS = 6  # that are gone up where no folder has a mark
_MOST_TO_A_MARK = 16
# In a question: folder, what is asked, name, folders that are added. No path holds it.
_BETWEEN = "\0"


class Modules:
    """Looks for modules and packages from folders. Each folder is listed once: what comes later is not seen until
    `look_again`. Who asks says which folders the file in question adds to the import path: see `search_path.py`.

    Args:
        roots: folders from which absolute imports resolve, besides what each file's place tells.
        disk: where files and folders are looked for, by this and by all that is given these modules.
    """

    def __init__(self, roots: Sequence[str] = (), disk: Disk | None = None):
        self.disk = disk or Disk()
        self.roots = tuple(os.path.abspath(root) for root in roots)
        self._listing: dict[str, frozenset[str]] = {}
        self._answers: dict[tuple[str, str, str, tuple[str, ...]], tuple[str | None, frozenset[str]]] = {}
        self._chains: dict[str, tuple[list[str], frozenset[str]]] = {}  # by folder: those above it, and what was listed for that
        self._seen: set[str] = set()  # the folders that the present question has led to
        self._kinds: dict[str, Callable[[str, str, tuple[str, ...]], str | None]] = {
            "module": self._module, "package": self._package, "start": self._start, "project": self._project,
        }

    def look_again(self) -> None:
        """Lists the known folders again, and forgets the answers that may be others now."""
        known, self._listing = self._listing, {}
        self._chains.clear()
        changed = any(self._list(folder) != names for folder, names in known.items())
        # Whether a name is that of a folder is in no listing.
        self._answers = {} if changed else {key: found for key, found in self._answers.items() if key[0] != "package"}

    def module(self, folder: str, name: str, added: tuple[str, ...] = ()) -> str | None:
        """The file of the module `name` (with leading dots if relative) as a file in `folder` would import it; None if it is
        not a file of the project."""
        return self._answer("module", folder, name, added)

    def package(self, folder: str, name: str, added: tuple[str, ...] = ()) -> str | None:
        """The folder of a namespace package (one without __init__.py), if `name` is one."""
        return self._answer("package", folder, name, added)

    def project(self, folder: str) -> str:
        """The folder of the project that the files in `folder` are of: the one above it with a mark, else the last one above
        it that holds Python files."""
        return self._answer("project", folder, "") or folder

    def looked_in(self, folder: str, name: str, added: tuple[str, ...] = ()) -> frozenset[str]:
        """The folders, there or not, that the answer to `module` hangs on."""
        self._answer("module", folder, name, added)
        return self._answers["module", folder, name, added][1]

    def question(self, kind: str, folder: str, name: str = "", added: tuple[str, ...] = ()) -> tuple[str, str | None] | None:
        """What was asked, as text, and what stands for the answer: as long as the answer is the same, so is that. None where
        the answer is the same whatever the folders hold. Where nothing of a first name is there, this is what was asked, for
        all that begins with it."""
        if kind != "project" and name[:1] != ".":
            first = name.partition(".")[0]
            if first in OUTSIDE:
                return None
            if self._answer("start", folder, first, added) is None:
                kind, name = "start", first
        else:
            added = ()
        return _BETWEEN.join((folder, kind, name, *added)), _digest(self._answer(kind, folder, name, added))

    def again(self, question: str) -> str | None:
        """What stands now for the answer to a question.

        Raises:
            ValueError: it is no question.
        """
        folder, kind, name, *added = question.split(_BETWEEN)
        if kind not in self._kinds:
            raise ValueError(question)
        return _digest(self._answer(kind, folder, name, tuple(added)))

    def _answer(self, kind: str, folder: str, name: str, added: tuple[str, ...] = ()) -> str | None:
        key = (kind, folder, name, added)
        if key not in self._answers:
            self._seen = set()
            answer = self._kinds[kind](folder, name, added)
            self._answers[key] = answer, frozenset(self._seen)
        return self._answers[key][0]

    def _module(self, folder: str, name: str, added: tuple[str, ...]) -> str | None:
        if name.startswith("."):
            parts = name.lstrip(".")
            for _ in range(len(name) - len(parts) - 1):
                folder = os.path.dirname(folder)
            return self._at(folder, parts.split(".") if parts else [])
        parts = name.split(".")
        if parts[0] in OUTSIDE:
            return None
        for place in self._places(folder, parts[0]):
            found = self._at(place, parts)
            if found:
                return found
        places = self._added(folder, added)
        # What is found without them goes first, and so does a package without __init__.py; but where "utils" is added, that is none.
        spaces = self._spaces(self._of_own(folder, parts[0]), parts) if places else ()
        if any(self._holds_python(inner) for inner in spaces if inner not in places):
            return None
        return next(filter(None, (self._at(place, parts) for place in places)), None)

    def _places(self, folder: str, first: str) -> list[str]:
        """The folders that absolute imports of a file in `folder` are looked for in, by their first name."""
        places = []
        for above in self._of_own(folder, first):
            places += [above, os.path.join(above, "src")]
        return [*places, *self.roots]

    def _added(self, folder: str, added: tuple[str, ...]) -> list[str]:
        """The folders of the project, there or not, that are meant where a file in `folder` adds some: seen from that folder, and
        from the top of the project, where programs are started."""
        if not added or not os.path.isabs(folder):
            return []
        root = self._project(folder)
        meant = [os.path.join(base, one) for one in added for base in ((folder,) if one.startswith(BESIDE) else (folder, root))]
        inside = os.path.join(root, "")
        return [place for place in dict.fromkeys(map(os.path.normpath, meant)) if place.startswith(inside)]

    def _of_own(self, folder: str, first: str) -> list[str]:
        """The folders from `folder` up in which a name can be one of its own project: of what is installed side by side, that is
        the package that the folder is in."""
        above = self._above(folder)
        top = above[-1]
        if os.path.basename(top) in INSTALLED and os.path.relpath(folder, top).split(os.sep)[0] != first:
            return above[:-1]
        return above

    def _above(self, folder: str) -> list[str]:
        """A folder and those above it, up to the top of the project, but not far."""
        if folder not in self._chains:
            found = [folder]
            while not (marked := is_top(self._list(found[-1]))) and len(found) < _MOST_TO_A_MARK:
                if os.path.basename(found[-1]) in INSTALLED or os.path.dirname(found[-1]) == found[-1]:
                    break
                found.append(os.path.dirname(found[-1]))
            self._chains[folder] = found if marked else found[:MOST_LEVELS], frozenset(found)
        found, listed_for_it = self._chains[folder]
        self._seen |= listed_for_it
        return found

    def _list(self, folder: str) -> frozenset[str]:
        self._seen.add(folder)
        if folder not in self._listing:
            self._listing[folder] = self.disk.names(folder)
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

    def _start(self, folder: str, name: str, added: tuple[str, ...]) -> str | None:
        """The nearest place that holds something of a name, whatever it is."""
        wanted = {name, name + ".py"}
        places = [*self._places(folder, name), *self._added(folder, added)]
        return next((place for place in places if not wanted.isdisjoint(self._list(place))), None)

    def _package(self, folder: str, name: str, added: tuple[str, ...]) -> str | None:
        parts = name.split(".")
        if not parts[0] or parts[0] in OUTSIDE:
            return None
        for inner in self._spaces([*self._of_own(folder, parts[0]), *self._added(folder, added)], parts):
            of_python = parts[0] not in SHARED or self._holds_python(inner)
            if of_python and self.disk.is_folder(inner):
                return inner
        return None

    def _spaces(self, places: Iterable[str], parts: list[str]) -> Iterator[str]:
        """What has a qualified name in some folders, whatever it is."""
        for inner in places:
            for part in parts:
                if part not in self._list(inner):  # a tree that takes "Model" for "model" is asked exactly, as Python asks it
                    break
                inner = os.path.join(inner, part)
            else:
                yield inner

    def _holds_python(self, folder: str) -> bool:
        return any(name.endswith(".py") for name in self._list(folder))

    def _project(self, folder: str, name: str = "", added: tuple[str, ...] = ()) -> str:
        top, reaches = folder, True
        above = self._above(folder)
        if is_top(self._list(above[-1])):
            return above[-1]
        for one in above:
            if os.path.basename(one) in INSTALLED:
                break
            reaches = reaches and any(name.endswith((".py", ".ipynb")) for name in self._list(one))
            top = one if reaches else top
        return top


def is_top(names: Collection[str]) -> bool:
    """Whether a folder with these names in it is the top of a project. A setup.py in a package is a module of that name."""
    marks = ROOT_MARKS.intersection(names)
    return bool(marks) and (marks != {"setup.py"} or "__init__.py" not in names)


def is_question(path: str) -> bool:
    """Whether what a verdict depends on is a question, and no path."""
    return _BETWEEN in path


def _digest(answer: str | None) -> str | None:
    return None if answer is None else hashlib.sha256(answer.encode("utf-8", "surrogateescape")).hexdigest()
