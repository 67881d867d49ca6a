"""The table of what a watch costs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import overhead  # noqa: E402


def test_a_figure_that_was_measured_again_takes_its_place():
    rows = {
        "cnn": {"bare": "400 ms", "watch": "1.1", "thorough": "1.2"},
        "mlp": {"bare": "0.2 ms", "watch": "1.3", "thorough": "1.4"},
    }
    text = f"# What\n\n{overhead.table(rows, ['watch', 'thorough'])}\n\na machine\n"
    changed = overhead.update(text, {"mlp": {"bare": "9 ms", "thorough": "2.5"}})
    rows["mlp"]["thorough"] = "2.5"
    assert changed == f"# What\n\n{overhead.table(rows, ['watch', 'thorough'])}\n\na machine\n"
