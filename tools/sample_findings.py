"""Draws findings at random from what torchlint said, with the source around each, for reading.

    torchlint --output-format json FOLDER > findings.json
    python tools/sample_findings.py findings.json --seed 1 --number 200 --context 12

The same seed draws the same findings, in whatever order the file has them.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path


def place(finding: dict) -> tuple:
    return finding["filename"], finding["location"]["row"], finding["location"]["column"], finding["code"]


def sample(findings: list[dict], seed: int, number: int) -> list[dict]:
    """`number` of the findings, or all where there are fewer, in the order of their files."""
    ordered = sorted(findings, key=place)
    return sorted(random.Random(seed).sample(ordered, min(number, len(ordered))), key=place)


def show(finding: dict, context: int) -> Iterator[str]:
    """A finding, and the lines around it with an arrow at its own."""
    file, row = finding["filename"], finding["location"]["row"]
    yield f"==== {finding['code']} {file}:{row}  {finding['message']}"
    for other in finding.get("related", ()):
        yield f"     {other['filename']}:{other['location']['row']}  {other['message']}"
    lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    for number in range(max(1, row - context), min(len(lines), row + context) + 1):
        yield f"{'>' if number == row else ' '}{number:5} {lines[number - 1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("findings", type=Path, help="what `torchlint --output-format json` printed")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--context", type=int, default=8, help="lines before and after each")
    args = parser.parse_args()
    findings = json.loads(args.findings.read_text(encoding="utf-8"))
    for index, finding in enumerate(sample(findings, args.seed, args.number), 1):
        print(f"#{index}", *show(finding, args.context), "", sep="\n")


if __name__ == "__main__":
    main()
