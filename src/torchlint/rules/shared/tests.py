"""Tests: which files they are, and which of their lines are there to fail."""

from __future__ import annotations

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.statements import EXPECTING, called
from torchlint.files import tests
from torchlint.sieve.facts import FileFacts


def is_test(facts: FileFacts) -> bool:
    """Whether a file holds tests, or what tests are made with."""
    return tests.is_test(facts.path, lambda: tests.runs_tests("".join(facts.lines)))


def is_certain(facts: FileFacts) -> bool:
    """Whether a file is one of tests whatever stands in it, and whoever calls it."""
    return tests.is_certain(facts.path, lambda: "".join(facts.lines))


def meant_to_fail(site: Site) -> bool:
    """Whether a place stands in `with pytest.raises(...)` or its like: what goes wrong there is what is tested."""
    if not EXPECTING & site.parsed.facts.words:
        return False
    around = (node for node in site.parsed.around(site.node) if isinstance(node, cst.With))
    return any(called(item.item) in EXPECTING for node in around for item in node.items)
