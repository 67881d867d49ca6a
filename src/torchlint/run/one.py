"""One file asked for alone, whose text is at hand and need not be what is on disk: judged with the files of its project that use
it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from torchlint.files.garbage import collect_if_much, no_gc
from torchlint.files.modules import Modules
from torchlint.files.source import Problem, Source
from torchlint.findings import Finding
from torchlint.run.around import Around
from torchlint.run.cache import Cache
from torchlint.run.digests import Digests
from torchlint.run.fresh_verdicts import Fresh
from torchlint.run.judge import Judge, Order, Verdict, make_engine
from torchlint.run.projects import Projects
from torchlint.run.users import Users

MOST_UNSAVED = 10  # files that are judged anew for a text that is not saved: its next version comes soon
_UNSAVED = (
    f"this was judged without the files that use it: more is known with the whole project once it is saved, as more than"
    f" {MOST_UNSAVED} files are to be judged anew for it"
)
STOPPED = "this was judged without some of the files that use it: they took too long; more is known with the whole project"


class Judging:
    """Judges single files, and keeps what it knows.

    Args:
        order: what files are judged by.
        projects: what is in the project of each.
        modules: finds imports, with the disk that all is read from.
        fresh: what this process has found out, and takes in what is found out here.
        cache: what earlier runs have found out.
        saved: whether the cache is told, which must not learn of unsaved texts.
        most: how many files may be judged anew for a text that is not saved.
    """

    def __init__(
        self, order: Order, projects: Projects, modules: Modules, fresh: Fresh, cache: Cache | None = None, saved: bool = True,
        most: int | None = MOST_UNSAVED,
    ):
        self.projects = projects
        self._modules = modules
        self._fresh = fresh
        self.cache = cache
        self._saved = saved
        self._most = most
        self._users = Users(modules, cache)
        self._tests_call = order.strict_tests
        self._judge = Judge(order, functools.partial(make_engine, modules=modules))
        self.apart: frozenset[str] = frozenset()

    def look_again(self, digests: Digests) -> None:
        """Forgets what does not hold any more."""
        self.projects.look_again()
        self._users.look_again()
        if self.cache is not None:
            self.cache.look_again(digests)
        self._judge.look_again(digests.of)

    def of(
        self, path: str, given: bytes | Source, digests: Digests, digest: str = "", goes_on: Callable[[], bool] = lambda: True
    ) -> tuple[list[Finding], list[Problem]]:
        """The findings that stand in a file, and what is to be said of judging it.

        Args:
            path: its full path.
            given: its content, or what was read of it.
            digests: what files hold now.
            digest: the sha256 of the content, where what was read is given.
            goes_on: asked before each of the files that use it is judged; they are left out from where it says no.
        """
        own = self._verdict(path, digests, given, digest)
        around = Around(self.projects, self._users, [path], self._tests_call)
        self.apart = around.apart
        found = {path: own.findings}
        known = {file.path: self._known(file.path, digests) for file in around.files}
        todo = [user for user, verdict in known.items() if verdict is None]
        if self._most is not None and len(todo) > self._most and self._modules.disk.holds_unsaved(path):
            self.apart |= {path}
            todo, notes = [], [Problem(path, _UNSAVED, note=True)]
        else:
            notes = list(around.notes())
        found |= {user: verdict.findings for user, verdict in known.items() if verdict is not None}
        for user in todo:
            if not goes_on():
                self.apart |= {path}
                notes.append(Problem(path, STOPPED, note=True))
                break
            found[user] = self._verdict(user, digests).findings
        return around.split(found)[0], [*own.problems, *notes]

    def _known(self, path: str, digests: Digests) -> Verdict | None:
        return self._fresh.get(path, digests) or (self.cache.get(path) if self.cache else None)

    def _verdict(self, path: str, digests: Digests, given: bytes | Source | None = None, digest: str = "") -> Verdict:
        known = self._known(path, digests)
        if known is not None:
            return known
        with no_gc():
            if isinstance(given, Source):
                verdict = self._judge.source(given, digest)
            elif given is not None:
                verdict = self._judge.content(path, given)
            else:
                verdict = self._judge.at(path, self._modules.disk)
            collect_if_much()
        self._fresh.put(path, verdict)
        if self.cache is not None and self._saved:
            self.cache.put(path, verdict)
        return verdict
