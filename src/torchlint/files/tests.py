"""Which files hold tests, or what tests are made with."""

from __future__ import annotations

import re
from collections.abc import Callable

_CERTAIN = re.compile(r"(?:^|/)(?:tests/|conftest\.py$)")
_MAYBE = re.compile(r"(?:^|/)(?:test/|(?:test_[^/]*|[^/]*_tests?)\.py$)")
# `test_model.py` of a research project is a script that evaluates: tests are run by pytest or unittest.
_RUNNERS = re.compile(r"^\s*(?:import|from) (?:pytest|unittest)\b|\bTestCase\b", re.MULTILINE)
_FUNCTION = re.compile(r"^\s*(?:async )?def (test\w*)\(\s*(?:self\b\s*,?)?\s*(\)?)", re.MULTILINE)


def runs_tests(text: str) -> bool:
    """Whether a text has what pytest or unittest would run."""
    return bool(_RUNNERS.search(text)) or any(
        _is_asked_by_pytest(match[1], not match[2], text) for match in _FUNCTION.finditer(text)
    )


def _is_asked_by_pytest(name: str, takes_something: bool, text: str) -> bool:
    """Whether nobody but pytest calls a function: `def test(model, loader)`, or one that its own file gives something, is an evaluation."""
    if name == "test" and takes_something:
        return False
    called = re.search(rf"(?<!def )\b{name}\(\s*{'[^)]' if name != 'test' else ''}", text)
    return called is None or name != "test" and not takes_something


def is_test(path: str, has_tests: Callable[[], bool]) -> bool:
    """Whether a file holds tests, or what tests are made with. `has_tests` says whether its text `runs_tests`, where the name alone does
    not tell."""
    path = path.replace("\\", "/")
    return bool(_CERTAIN.search(path)) or bool(_MAYBE.search(path)) and has_tests()


def is_certain(path: str, text: Callable[[], str]) -> bool:
    """Whether a file holds tests whoever calls what is in it: by its folder, or as it uses pytest or unittest."""
    return bool(_CERTAIN.search(path.replace("\\", "/"))) or bool(_RUNNERS.search(text()))
