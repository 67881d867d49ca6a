"""What a mended file does to others: those that use it are judged again, as if it were written, before its fixes stay."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection

from torchlint.files.disk import Unsaved
from torchlint.files.garbage import no_gc
from torchlint.files.modules import Modules
from torchlint.findings import Finding
from torchlint.run.digests import Digests
from torchlint.run.fresh_verdicts import Fresh
from torchlint.run.judge import Judge, Order, make_engine
from torchlint.run.users import Users


class Elsewhere:
    """The files around mended ones, as they are judged with these.

    Args:
        order: what files are judged by.
        fresh: what this process has found out, and takes in what is found out here.
        files: the files that may use one.
    """

    def __init__(self, order: Order, fresh: Fresh, files: Callable[[str], Collection[str]]):
        self._fresh = fresh
        self._files = files
        self._disk = Unsaved()
        self._modules = Modules(order.roots, self._disk)
        self._judge = Judge(order, functools.partial(make_engine, modules=self._modules))
        self._users = Users(self._modules)
        self._known: dict[str, tuple[list[Finding], frozenset[str]] | None] = {}

    def harm(self, path: str, before: bytes, after: bytes) -> Finding | None:
        """A finding that judging some user of a file gives where it holds `after`, and not where it holds `before`; None where
        there is no such finding. What a user was found to be is kept, for the content that the file is left with by `keep`.
        """
        users = self._users.of([path], self._files(path))
        if not users:
            return None
        self._put(path, before)
        was = {user: self._found(user) for user in users}
        depending = [user for user, found in was.items() if found is None or path in found[1]]
        self._put(path, after)
        for user in depending:
            now, old = self._judged(user), was[user]
            if now is None or old is None:
                continue  # it could not be judged, before or now: nothing is known of it
            left = Counter(map(_kind, old[0]))
            for finding in now[0]:
                left[_kind(finding)] -= 1
                if left[_kind(finding)] < 0:
                    self._put(path, before)
                    return finding
        return None

    def told(self, path: str, raw: bytes) -> list[Finding]:
        """The findings that the users of a file have in it where it holds `raw`."""
        self._put(path, raw)
        found = (self._judged(user) for user in self._users.of([path], self._files(path)))
        return [finding for known in found if known is not None for finding in known[0] if finding.location.filename == path]

    def keep(self, path: str, after: bytes) -> None:
        """From now on, the file holds this."""
        self._put(path, after)
        self._known = {user: found for user, found in self._known.items() if found is not None and path not in found[1]}

    def _put(self, path: str, raw: bytes) -> None:
        self._disk.put(path, raw)
        self._disk.look_again()
        self._modules.look_again()

    def _found(self, path: str) -> tuple[list[Finding], frozenset[str]] | None:
        if path not in self._known:
            self._known[path] = self._judged(path)
        return self._known[path]

    def _judged(self, path: str) -> tuple[list[Finding], frozenset[str]] | None:
        """The findings of a file, and what they depend on; None where it cannot be judged."""
        try:
            raw = self._disk.read(path)
        except OSError:
            return None
        digests = Digests(modules=self._modules)
        verdict = self._fresh.get(path, digests)
        if verdict is None:
            with no_gc():
                self._judge.look_again(digests.of)
                verdict = self._judge.content(path, raw)
            self._fresh.put(path, verdict)
        if any(not problem.note for problem in verdict.problems):
            return None
        return list(verdict.findings), frozenset(verdict.depends)


def _kind(finding: Finding) -> tuple[str, str]:
    return finding.code, finding.location.filename
