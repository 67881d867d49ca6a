"""Findings held against labels: which bugs they name, which traps they spring, which fixed files they still flag.

A label is a row of a JSON array: `id`, `split` ("trap" is sound code, every other a bug), `path`, `line`, `pitfall`
(the number of the catalogue) and, for bugs that only several files together show, `scope` "project". The files of a
label lie in `<id>/before/<path>`, and mended in `<id>/after/<path>` where the mend is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from linters import Finding

NEAR = 12  # lines

# A missing call has no line of its own, nor has a loss that does not suit an output: anywhere in the file counts.
ANYWHERE = {101, 103, 105, 110, 118, 201, 202, 203, 301, 302, 303, 310, 501, 502, 606, 704, 801, 802, 804, 805, 904}
# (said, labelled): the same mistake under two names.
SAME = {(302, 301), (301, 302), (103, 101), (101, 103), (102, 101), (207, 201), (203, 201), (118, 135), (135, 118)}


@dataclass
class Score:
    caught: list[dict] = field(default_factory=list)
    missed: list[dict] = field(default_factory=list)
    traps: int = 0
    sprung: list[dict] = field(default_factory=list)
    twins: int = 0
    still: list[dict] = field(default_factory=list)

    def within(self, numbers: set[int]) -> tuple[int, int]:
        """Of the bugs of these numbers alone: how many were caught, and how many there are."""
        caught = sum(label["pitfall"] in numbers for label in self.caught)
        return caught, caught + sum(label["pitfall"] in numbers for label in self.missed)


def covered(numbers: set[int]) -> set[int]:
    """All numbers that a tool can be credited with whose rules are about `numbers`."""
    return numbers | {want for said, want in SAME if said in numbers}


def score(labels: list[dict], root: Path, findings: list[Finding], numbers: dict[str, set[int]]) -> Score:
    """`numbers` has, for each code, what it is in the catalogue: a code that is several numbers counts for each."""
    root = root.resolve()
    found: dict[Path, list[tuple[set[int], int]]] = {}
    for finding in findings:
        found.setdefault(Path(finding.file).resolve(), []).append((covered(numbers[finding.code]), finding.line))

    def hit(label: dict, side: str) -> bool:
        want, bug = label["pitfall"], side == "before" and label["split"] != "trap"
        if bug and label.get("scope") == "project":
            folder = root / label["id"] / side
            inside = [said for file, items in found.items() if file.is_relative_to(folder) for said, _ in items]
            return any(want in said for said in inside)
        anywhere = bug and want in ANYWHERE or label["path"].endswith(".ipynb")
        items = found.get(root / label["id"] / side / label["path"], ())
        return any(want in said and (anywhere or abs(line - label["line"]) <= NEAR) for said, line in items)

    result = Score()
    for label in labels:
        folder = root / label["id"]
        if not (folder / "before" / label["path"]).is_file():
            continue
        if label["split"] == "trap":
            result.traps += 1
            if hit(label, "before"):
                result.sprung.append(label)
            continue
        (result.caught if hit(label, "before") else result.missed).append(label)
        if (folder / "after" / label["path"]).is_file():
            result.twins += 1
            if hit(label, "after"):
                result.still.append(label)
    return result
