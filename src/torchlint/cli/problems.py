"""What could not be judged, or only in part: as lines, and as reports take it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from torchlint.files.source import Problem
from torchlint.findings import Location
from torchlint.report import NOT_JUDGED, Note, clean, path

IN_PART = "judged-in-part"


def problem_line(problem: Problem) -> str:
    """A problem as the one line that is said about it."""
    where = path(problem.filename)
    if problem.cell is not None:
        where += f":cell {problem.cell}"
    if problem.row is not None:
        where += f":{problem.row}"
    return clean(f"{where}: {problem.message}")


def tell_problems(problems: Iterable[Problem], quiet: bool = False) -> None:
    """Prints a line for each problem. Notes are no failures: they say so, and are left out where only these were asked for."""
    for problem in problems:
        if not (problem.note and quiet):
            print(f"torchlint: {'note: ' if problem.note else ''}{problem_line(problem)}", file=sys.stderr)


def for_reports(problems: Iterable[Problem]) -> dict[str, Any]:
    """The `problems` and `notes` of a report's context."""
    problems = list(problems)
    return {
        "problems": [_as_note(problem, NOT_JUDGED) for problem in problems if not problem.note],
        "notes": [_as_note(problem, IN_PART) for problem in problems if problem.note],
    }


def _as_note(problem: Problem, code: str) -> Note:
    at = Location(problem.filename, problem.row or 1, cell=problem.cell)
    return Note(code, at, clean(problem.message), problem_line(problem))
