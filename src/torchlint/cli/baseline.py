"""A file of known findings: `--update-baseline` writes it, and then only what is new is told."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.files.writing import Changed, replace
from torchlint.findings import Finding

Line = Callable[[Finding], "str | None"]
_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Counts = dict[str, dict[str, _Count]]  # by file, relative to the baseline: code and fingerprint, how often


class BaselineError(ValueError):
    """A baseline that cannot be read or written; the text says why."""


class _File(msgspec.Struct):
    version: int
    findings: _Counts


class Baseline:
    """The findings that a project knows. `read` gives what is in a file.

    In what its methods are given, `line` is the text of the line that a finding stands on, or None where its file has
    changed since it was judged.
    """

    def __init__(self, path: Path, raw: bytes | None, known: _Counts):
        self._path = path
        self._folder = path.absolute().parent
        self._raw = raw  # None where there is no file yet
        self._known = known

    @classmethod
    def read(cls, path: Path, to_update: bool = False) -> Baseline:
        """What is in a baseline; nothing where there is none yet that is `to_update`.

        Raises:
            BaselineError: the file cannot be read, is no baseline, or is a link and to be updated.
        """
        if to_update and path.is_symlink():
            raise BaselineError(f"{path}: cannot be written: it is a link to {os.readlink(path)}")
        try:
            raw = read_bytes(path)
            found = msgspec.json.decode(raw, type=_File)
        except FileNotFoundError:
            if to_update:
                return cls(path, None, {})
            raise BaselineError(f"{path}: there is no such file: --update-baseline writes one") from None
        except OSError as error:
            raise BaselineError(f"{path}: cannot be read: {describe(error)}") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise BaselineError(f"{path}: no baseline of torchlint: {error}") from None
        if found.version != 1:
            raise BaselineError(f"{path}: no baseline that this torchlint knows: version {found.version}")
        return cls(path, raw, found.findings)

    def new_ones(
        self, findings: Sequence[Finding], line: Line, is_answered: Callable[[str, str], bool]
    ) -> tuple[list[Finding], str]:
        """The findings that are not known, and a line that says how many are hidden, and how many entries hide nothing any
        more, though the run can say so (see `update`). A line that moved is known by its text; one that was copied counts anew, and so
        does one that cannot be compared because its file has changed."""
        left = {file: Counter(counts) for file, counts in self._known.items()}
        fresh = []
        for finding in findings:
            text = line(finding)
            counts = left.get(self._name(finding))
            if text is None or counts is None or not counts[key := _key(finding, text)]:
                fresh.append(finding)
            else:
                counts[key] -= 1
        stale = sum(
            count for file, counts in left.items() for key, count in counts.items()
            if count > 0 and is_answered(os.path.normpath(self._folder / file), key.partition(" ")[0])
        )
        hidden = len(findings) - len(fresh)
        told = f"{self._path}: {hidden} known finding{'' if hidden == 1 else 's'} left out"
        if stale:
            told += f"; {stale} of its entries {'is' if stale == 1 else 'are'} stale, --update-baseline takes {'it' if stale == 1 else 'them'} out"
        return fresh, told

    def update(self, findings: Sequence[Finding], line: Line, is_answered: Callable[[str, str], bool]) -> None:
        """Writes the findings of a run as those that are known.

        Args:
            findings: what the run found.
            line: see the class.
            is_answered: whether the run can say that a file (by its full path) has no finding of a code but these. What is
                known of others stays.

        Raises:
            BaselineError: the file cannot be written, or it, or a finding's file, has changed. What was there is there still.
        """
        counted: _Counts = {}
        for finding in findings:
            text = line(finding)
            if text is None:
                raise BaselineError(f"{self._path}: not written: {finding.location.filename}: {Changed()}")
            counts = counted.setdefault(self._name(finding), {})
            key = _key(finding, text)
            counts[key] = counts.get(key, 0) + 1
        for file, known in self._known.items():
            path = os.path.normpath(self._folder / file)
            for key, times in known.items():
                if not is_answered(path, key.partition(" ")[0]):
                    counts = counted.setdefault(file, {})
                    counts[key] = max(times, counts.get(key, 0))
        ordered = {file: dict(sorted(known.items())) for file, known in sorted(counted.items())}
        text = msgspec.json.format(msgspec.json.encode(_File(1, ordered)), indent=1) + b"\n"

        def prepare(temporary: str) -> None:
            os.chmod(temporary, 0o666 & ~_umask())
            if self._raw is None and os.path.lexists(self._path):
                raise Changed

        try:
            replace(self._path, text, prepare, self._raw)
        except OSError as error:
            raise BaselineError(f"{self._path}: cannot be written: {describe(error)}") from None

    def _name(self, finding: Finding) -> str:
        return os.path.relpath(finding.location.filename, self._folder).replace(os.sep, "/")


def _key(finding: Finding, line: str) -> str:
    return f"{finding.code} {finding.fingerprint(line)}"


def _umask() -> int:
    """What the user takes away from the mode of new files; a temporary file has none of it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
