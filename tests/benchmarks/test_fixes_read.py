"""The table of fixes that were read: what benchmarks/FIXES.md and docs/fixes.md say of it is what it holds."""

import csv
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_figures_are_those_of_the_table():
    with (ROOT / "benchmarks/fixes_read.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    count = Counter((row["kind"], row["verdict"]) for row in rows)
    safe, unsafe = (sum(number for (kind, _), number in count.items() if kind == one) for one in ("safe", "unsafe"))
    text = (ROOT / "benchmarks/FIXES.md").read_text()
    assert f"| safe | {safe} | {count['safe', 'wrong']} |" in text
    assert f"| unsafe | {unsafe} | {count['unsafe', 'wrong']} |" in text
    said = f"{len(rows)} fixes of {len({row['repository'] for row in rows})}"
    assert said in text and said in (ROOT / "docs/fixes.md").read_text()
    assert len({(row["repository"], row["path"], row["line"], row["code"]) for row in rows}) == len(rows)
    by_rule = Counter((row["code"], row["kind"]) for row in rows)
    assert all(f"| {code} | {kind} | {number} |" in text for (code, kind), number in by_rule.items())
