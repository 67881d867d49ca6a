"""Which files hold tests, or what tests are made with."""

from __future__ import annotations

import re
from collections.abc import Callable

_CERTAIN = re.compile(r"(?:^|/)(?:tests/|conftest\.py$)")
_MAYBE = re.compile(r"(?:^|/)(?:test/|(?:test_[^/]*|[^/]*_tests?)\.py$)")
# `test_model.py` of a research project is a script that evaluates: tests are run by pytest or unittest.
_RUNS = re.compile(r"^\s*(?:async )?def test|^\s*(?:import|from) (?:pytest|unittest)\b|^class \w*Test", re.MULTILINE)


def runs_tests(text: str) -> bool:
    """Whether a text has what pytest or unittest would run."""
    return bool(_RUNS.search(text))


def is_test(path: str, has_tests: Callable[[], bool]) -> bool:
    """Whether a file holds tests, or what tests are made with. `has_tests` says whether its text `runs_tests`, where the name alone does
    not tell."""
    path = path.replace("\\", "/")
    return bool(_CERTAIN.search(path)) or bool(_MAYBE.search(path)) and has_tests()
