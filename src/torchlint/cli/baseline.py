"""A file of known findings: written once, then only what is new is told."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from torchlint.files.reading import read_bytes
from torchlint.files.writing import replace
from torchlint.findings import Finding, Location

Lines = Callable[[Location], "str | None"]


class BaselineError(ValueError):
    """A baseline that cannot be read or written; the text says why."""


class _Baseline(msgspec.Struct):
    version: int
    findings: dict[str, dict[str, int]]  # by file, relative to the baseline: code and fingerprint, how often


def write(path: Path, findings: Sequence[Finding], lines: Lines) -> None:
    """Writes the findings of a run as those that are known.

    Raises:
        BaselineError: the file cannot be written.
    """
    counted: dict[str, dict[str, int]] = {}
    for finding in findings:
        file, key = _key(finding, path, lines)
        known = counted.setdefault(file, {})
        known[key] = known.get(key, 0) + 1
    ordered = {file: dict(sorted(known.items())) for file, known in sorted(counted.items())}
    text = msgspec.json.format(msgspec.json.encode(_Baseline(1, ordered)), indent=1) + b"\n"
    if path.is_symlink():
        raise BaselineError(f"{path}: cannot be written: it is a link to {os.readlink(path)}")
    try:
        replace(path, text, lambda temporary: os.chmod(temporary, 0o666 & ~_umask()))
    except OSError as error:
        raise BaselineError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _umask() -> int:
    """What the user takes away from the mode of new files; a temporary file has none of it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def new_ones(path: Path, findings: Sequence[Finding], lines: Lines) -> list[Finding]:
    """The findings that a baseline does not know. A line that moved is known by its text; one that was copied counts anew.

    Raises:
        BaselineError: the file cannot be read, or is no baseline.
    """
    try:
        known = msgspec.json.decode(read_bytes(path), type=_Baseline)
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BaselineError(f"{path}: no baseline of torchlint: {error}") from None
    if known.version != 1:
        raise BaselineError(f"{path}: no baseline that this torchlint knows: version {known.version}")
    left = {file: Counter(counts) for file, counts in known.findings.items()}
    fresh = []
    for finding in findings:
        file, key = _key(finding, path, lines)
        counts = left.get(file)
        if counts is not None and counts[key] > 0:
            counts[key] -= 1
        else:
            fresh.append(finding)
    return fresh


def _key(finding: Finding, path: Path, lines: Lines) -> tuple[str, str]:
    file = os.path.relpath(finding.location.filename, path.absolute().parent).replace(os.sep, "/")
    return file, f"{finding.code} {finding.fingerprint(lines(finding.location) or '')}"
