"""Parts of RESULTS.md: each between its marks, the others untouched."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import growth  # noqa: E402
import results  # noqa: E402


def test_parts_stand_side_by_side(tmp_path):
    path = tmp_path / "RESULTS.md"
    results.put("one", "first\n", path)
    results.put("two", "second", path)
    results.put("one", "first again", path)
    assert path.read_text() == (
        "# Results\n\n<!-- one -->\nfirst again\n<!-- /one -->\n\n<!-- two -->\nsecond\n<!-- /two -->\n"
    )


def test_the_model_that_grows():
    model, step = growth.make(3)
    step()
    assert len(list(model.modules())) == 10 and all(p.grad is not None for p in model.parameters())
