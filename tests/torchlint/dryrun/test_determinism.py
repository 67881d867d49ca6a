"""What is found in a file does not depend on what was judged before it."""

import pytest

from torchlint.engine import Engine

from .support import ROOT, RULES, engine

FILES = sorted((ROOT / "fixtures" / "lint").rglob("*.py")) + sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def alone():
    """What an engine of its own finds in each file."""
    return {path: judged(Engine(RULES), path) for path in FILES}


def judged(judge, path):
    result = judge.check(str(path), path.read_text(encoding="utf-8"))
    return result.findings, result.depends


def test_there_is_something_to_find(alone):
    assert sum(bool(findings) for findings, _ in alone.values()) > 10


@pytest.mark.parametrize("order", [1, -1], ids=["in_order", "reversed"])
def test_order_does_not_matter(order, alone):
    judge = Engine(RULES)
    for path in FILES[::order]:
        assert judged(judge, path) == alone[path], path.relative_to(ROOT)


def test_a_second_time_gives_the_same(alone):
    for path in FILES:
        assert judged(engine(), path) == judged(engine(), path) == alone[path], path.relative_to(ROOT)


def test_nothing_is_lost_when_memory_is_freed(alone, monkeypatch):
    """As after hundreds of files: trees and facts are dropped after every file, and read again when asked for."""
    monkeypatch.setattr("torchlint.dryrun.world.MOST_TEXT", 0)
    monkeypatch.setattr("torchlint.dryrun.world.MOST_FILES", 0)
    judge = Engine(RULES)
    for path in FILES:
        assert judged(judge, path) == alone[path], path.relative_to(ROOT)
