"""What this process has just found out of the files it mends: `--fix` looks at a file before it and after it, and so does
the run around it."""

from __future__ import annotations

import hashlib

from torchlint.run.digests import Digests
from torchlint.run.judge import Verdict


class Fresh:
    """Verdicts of this process, by the content that they are on. What a cache says is not kept here: it may come with the
    tree, and what mending writes must be our own finding."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Verdict] = {}

    def put(self, path: str, verdict: Verdict) -> None:
        """Keep a verdict, in the place of an older one on the file."""
        self._verdicts.pop(path, None)
        if verdict.lasting:
            self._verdicts[path] = verdict

    def of(self, path: str, raw: bytes) -> Verdict | None:
        """The verdict on a file of this content; None where it is not known."""
        verdict = self._verdicts.get(path)
        return verdict if verdict is not None and verdict.digest == hashlib.sha256(raw).hexdigest() else None

    def get(self, path: str, digests: Digests) -> Verdict | None:
        """The verdict on a file, if its content and everything it depends on are on disk as they were."""
        verdict = self._verdicts.get(path)
        if verdict is None or verdict.digest != digests.of(path):
            return None
        files = verdict.depends.keys() | {path}
        for at, digest in verdict.depends.items():
            if digests.of(at) != digest and (at not in verdict.glimpses or not digests.show(at, verdict.glimpses[at], files)):
                return None
        return verdict
