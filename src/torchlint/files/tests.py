"""Which files hold tests, or what tests are made with."""

from __future__ import annotations

import re

_CERTAIN = re.compile(r"(?:^|/)(?:tests/|conftest\.py$)")
_MAYBE = re.compile(r"(?:^|/)(?:test/|(?:test_[^/]*|[^/]*_tests?)\.py$)")
# `test_model.py` of a research project is a script that evaluates: tests are run by pytest or unittest.
_RUNS = re.compile(r"^\s*(?:async )?def test|^\s*(?:import|from) (?:pytest|unittest)\b|^class \w*Test", re.MULTILINE)


def runs_tests(text: str) -> bool:
    """Whether a text has what pytest or unittest would run."""
    return bool(_RUNS.search(text))


def may_be_test(path: str) -> bool:
    """Whether a file is a test by its name, if its text runs tests."""
    return bool(_MAYBE.search(path.replace("\\", "/")))


def is_test_by_name(path: str) -> bool:
    """Whether a file is a test wherever it lies and whatever it holds."""
    return bool(_CERTAIN.search(path.replace("\\", "/")))
