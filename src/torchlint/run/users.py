"""The files that use a file: what they do can make a finding in it, and a change of it can make one in them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from torchlint.files.modules import Modules
from torchlint.files.parse import parse_source
from torchlint.files.project import MOST_BYTES
from torchlint.files.source import SourceError
from torchlint.files.tests import is_test
from torchlint.run.cache import Cache
from torchlint.run.mentions import Mentions, State, mentions_of, state_of
from torchlint.run.outline import Outline


class Users:
    """Who imports whom. Each file is read once.

    Args:
        modules: finds what is imported, with the disk that files are read from.
        cache: knows what earlier runs have read, and is told what was read now.
    """

    def __init__(self, modules: Modules, cache: Cache | None = None):
        self._modules = modules
        self._cache = cache
        self._known: dict[str, tuple[State, Mentions]] | None = None
        self._sure: set[str] = set()  # the files whose mentions are of what they hold now
        self._graphs: dict[frozenset[str], dict[str, set[str]]] = {}
        self._outlines: dict[str, tuple[Mentions, Outline]] = {}

    def look_again(self) -> None:
        """Forgets what may be otherwise now."""
        self._sure.clear()
        self._graphs.clear()

    def of(self, paths: Iterable[str], files: Collection[str]) -> list[str]:
        """The ones of `files` that import one of `paths`, but for these themselves, or that have something of it by way of others: a
        function that calls one of it, a class on top of its. In order of their names."""
        asked = set(paths)
        among = frozenset(files).union(asked)
        if among not in self._graphs:
            self._graphs[among] = self._graph(among)
        users = self._graphs[among]
        given: dict[str, frozenset[str] | None] = {path: self._outline(path).own() for path in asked}
        todo = sorted(asked)
        while todo:
            path = todo.pop()
            for user in users.get(path, ()):
                has = self._has(user, given[path])
                if not has and has is not None and path not in asked:
                    continue
                before = given.get(user, frozenset())
                now = None if has is None or before is None else self._outline(user).gives(before | has)
                if user not in given or now != before:
                    given[user] = now
                    todo.append(user)
        return sorted(set(given).intersection(files) - asked)

    def _has(self, user: str, given: frozenset[str] | None) -> frozenset[str] | None:
        """By which names a file that imports another has what that gives: none, if it mentions none of them; None for anything."""
        if given is None:
            return None
        outline = self._outline(user)
        return given if outline.star else given & outline.words

    def _outline(self, path: str) -> Outline:
        mentions, known = self._mentions(path), self._outlines.get(path)
        if known is None or known[0] is not mentions:
            known = self._outlines[path] = mentions, Outline(_place_of(path)[1], mentions.star, mentions.blocks)
        return known[1]

    def outside_tests(self, paths: Iterable[str], files: Collection[str]) -> list[str]:
        """The same, without the tests that use what is none: what a test makes of a program is not told of the program."""
        tests = {path for path in paths if self._is_test(path)}
        of_tests = set(self.of(tests, files)) if tests else set()
        return [user for user in self.of(paths, files) if user in of_tests or not self._is_test(user)]

    def _is_test(self, path: str) -> bool:
        return is_test(path, lambda: self._mentions(path).runs_tests)

    def _graph(self, files: frozenset[str]) -> dict[str, set[str]]:
        """By file, those that import it. Files between, which nobody asked for, are looked into."""
        stems = {_place_of(path): path for path in files}
        users: dict[str, set[str]] = {}
        todo, met = sorted(files), set(files)
        while todo:
            path = todo.pop()
            folder, mentions = os.path.dirname(path), self._mentions(path)
            imported = {self._modules.module(folder, name, mentions.added) for name in mentions.names} - {None, path}
            # A module is met as an attribute of its package, too.
            places = {os.path.dirname(one) for one in imported}
            around = {stems[place, word] for place in places for word in mentions.attributes if (place, word) in stems}
            for one in imported | around:
                users.setdefault(one, set()).add(path)
                if one not in met:
                    met.add(one)
                    todo.append(one)
        return users

    def _mentions(self, path: str) -> Mentions:
        if self._known is None:
            self._known = self._cache.mentions() if self._cache is not None else {}
        known = self._known.get(path)
        if known is not None and path in self._sure:
            return known[1]
        self._sure.add(path)
        disk = self._modules.disk
        state = None if disk.holds_unsaved(path) else state_of(path)
        if known is not None and state is not None and known[0] == state:
            return known[1]
        try:
            raw = disk.read(path, MOST_BYTES)
            text = parse_source(path, raw).text if path.endswith(".ipynb") else raw.decode("utf-8", "replace")
        except (OSError, SourceError):
            text = ""
        found = mentions_of(text)
        self._known[path] = state, found
        if state is not None and self._cache is not None:
            self._cache.put_mentions(path, (state, found))
        return found


def _place_of(path: str) -> tuple[str, str]:
    """The folder that a module is in, and what it is called there."""
    folder, name = os.path.split(path)
    return os.path.split(folder) if name == "__init__.py" else (folder, os.path.splitext(name)[0])
