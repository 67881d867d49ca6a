"""Tests: which files they are, and which of their lines are there to fail."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.statements import EXPECTING, called
from torchlint.sieve.facts import FileFacts

_CERTAIN = re.compile(r"(?:^|/)(?:tests/|conftest\.py$)")
_MAYBE = re.compile(r"(?:^|/)(?:test/|(?:test_[^/]*|[^/]*_tests?)\.py$)")
# `test_model.py` of a research project is a script that evaluates: tests are run by pytest or unittest.
_RUNS_TESTS = re.compile(r"^\s*(?:async )?def test|^\s*(?:import|from) (?:pytest|unittest)\b|^class \w*Test", re.MULTILINE)


def is_test(facts: FileFacts) -> bool:
    """Whether a file holds tests, or what tests are made with."""
    path = facts.path.replace("\\", "/")
    if _CERTAIN.search(path):
        return True
    return bool(_MAYBE.search(path)) and bool(_RUNS_TESTS.search("".join(facts.lines)))


def meant_to_fail(site: Site) -> bool:
    """Whether a place stands in `with pytest.raises(...)` or its like: what goes wrong there is what is tested."""
    if not EXPECTING & site.parsed.facts.words:
        return False
    around = (node for node in site.parsed.around(site.node) if isinstance(node, cst.With))
    return any(called(item.item) in EXPECTING for node in around for item in node.items)
