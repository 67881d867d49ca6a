"""What `--add-noqa` does: a comment behind each statement that has a finding."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from torchlint.files.reading import read_bytes
from torchlint.files.source import Problem, SourceError, describe
from torchlint.files.writing import Changed
from torchlint.findings import Finding
from torchlint.fixes.edits import EditError
from torchlint.fixes.silence import silenced


def add_noqa(findings: Sequence[Finding], root: Path, judged: Collection[str]) -> tuple[int, list[Problem]]:
    """Writes `# noqa` comments for findings into the files that they stand in.

    Args:
        findings: what is to be hidden.
        root: the project's folder. Files in it may be changed, whether they were named or are imported by those that were.
        judged: the files that were named, by their full paths: these may be changed wherever they are.

    Returns:
        How many findings are hidden now, and which files could not be changed.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        by_file.setdefault(os.path.abspath(finding.location.filename), []).append(finding)
    hidden, problems = 0, []
    for path, some in sorted(by_file.items()):
        try:
            if path not in judged and not Path(path).is_relative_to(os.path.abspath(root)):
                raise OSError("it is outside of the project, and was not named")
            raw = read_bytes(path)
            digest = hashlib.sha256(raw).hexdigest()
            if any(finding.digest != digest for finding in some):
                raise Changed
            after = silenced(path, raw, some)
            from torchlint.fixes.fixer import Mended, write

            if after != raw:
                write(Mended(path, raw, after, {}), root)
            hidden += len(some)
        except (OSError, SourceError, EditError) as error:
            why = describe(error) if isinstance(error, OSError) else str(error)
            problems.append(Problem(os.path.relpath(path), f"cannot be changed: {why}"))
    return hidden, problems
