"""Draws fixes to be read one by one, at random over the rules: a table to be filled in, and the changes with the code around them.

    python benchmarks/fixes_draw.py FOLDER... --show OUT [--most 15] [--seed 17] [--known benchmarks/fixes_read.csv]

Each FOLDER holds one repository and is named `owner+name`; COMMITS (`owner+name hash` a line) says of which commits they are. What
torchlint says of a folder is kept beside it in FOLDER.json. Of each rule, safe and unsafe fixes apart, `--most` are drawn at
most, one of a repository after the other; those of the table `--known` are left out and count. OUT gets what is to be read: the
change that each fix makes by itself, as a diff. The table goes to standard output, without verdicts.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import hashlib
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from torchlint.files.parse import parse_source
from torchlint.findings import Edit, Location
from torchlint.fixes.edits import EditError, apply

COLUMNS = ("repository", "commit", "path", "line", "code", "kind", "verdict", "reason")


class Offered(NamedTuple):
    """A fix that torchlint offers; `line` is `cell:row` in a notebook."""

    repository: str
    path: str
    line: str
    code: str
    kind: str
    item: dict


def offered(folder: Path) -> Iterator[Offered]:
    """All fixes of one repository."""
    kept = folder.with_name(folder.name + ".json")
    if not kept.exists():
        command = [sys.executable, "-m", "torchlint", "--isolated", "--exit-zero", "--no-cache", "--select", "ALL", "-f", "json", "."]
        kept.write_text(subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout)
    for item in json.loads(kept.read_text() or "[]"):
        if item.get("fix"):
            row, cell = item["location"]["row"], item["cell"]
            yield Offered(folder.name, item["filename"], str(row) if cell is None else f"{cell}:{row}", item["code"],
                          item["fix"]["applicability"], item)


def drawn(fixes: list[Offered], most: int, seed: int, known: set[tuple]) -> list[Offered]:
    """At most so many fixes of each rule and kind, the repositories in turn."""
    groups: dict[tuple, list[Offered]] = defaultdict(list)
    taken: dict[tuple, int] = defaultdict(int)
    met = set()
    for fix in fixes:
        change = fix.repository, fix.path, json.dumps(fix.item["fix"]["edits"])  # one change may mend several findings
        if fix[:4] in known:
            taken[fix.code, fix.kind] += 1
        elif change not in met:
            met.add(change)
            groups[fix.code, fix.kind].append(fix)
    chosen = []
    for key, some in sorted(groups.items()):
        random.Random(f"{seed}{key}").shuffle(some)
        turns: dict[str, int] = defaultdict(int)
        order = []
        for fix in some:
            turns[fix.repository] += 1
            order.append((turns[fix.repository], len(order), fix))
        chosen += [fix for _, _, fix in sorted(order)[: max(most - taken[key], 0)]]
    return chosen


def shown(folder: Path, fix: Offered, around: int) -> str:
    """What a fix alone changes, with the code around it."""
    path = folder / fix.path
    raw = path.read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    source = parse_source(str(path), raw)
    edits = [Edit(_location(edit), edit["content"], _replaced(source, edit), digest) for edit in fix.item["fix"]["edits"]
             if edit["filename"] == fix.path]
    try:
        after = parse_source(str(path), apply(str(path), raw, edits)).lines()
    except (EditError, ValueError, LookupError) as error:
        after = [f"NOT APPLIED: {error}"]
    lines = difflib.unified_diff(source.lines(), after, lineterm="", n=around)
    return "\n".join(list(lines)[2:])


def _location(edit: dict) -> Location:
    at, end = edit["location"], edit["end_location"]
    return Location(edit["filename"], at["row"], at["column"], end["row"], end["column"], edit["cell"])


def _replaced(source, edit: dict) -> str:
    at = _location(edit)
    rows = [line for line, place in zip(source.lines(), source.rows) if place[0] == at.cell] if source.rows else source.lines()
    some = rows[at.row - 1 : at.end_row]
    if len(some) == 1:
        return some[0][at.column - 1 : at.end_column - 1]
    return "\n".join([some[0][at.column - 1 :], *some[1:-1], some[-1][: at.end_column - 1]]) if some else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--commits", type=Path, required=True, help="a file with the commit of each folder")
    parser.add_argument("--show", type=Path, required=True, help="the file that gets the changes to be read")
    parser.add_argument("--most", type=int, default=15, help="fixes of each rule and kind")
    parser.add_argument("--around", type=int, default=12, help="lines of code that are shown around a change")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--known", type=Path, help="a table of fixes that were read")
    given = parser.parse_args()
    commits = dict(line.split() for line in given.commits.read_text().splitlines() if line.strip())
    known: set[tuple] = set()
    if given.known and given.known.exists():
        with given.known.open(newline="") as file:
            known = {(row["repository"].replace("/", "+"), row["path"], row["line"], row["code"]) for row in csv.DictReader(file)}
    fixes = [fix for folder in given.folder for fix in offered(folder)]
    places = {folder.name: folder for folder in given.folder}
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    with given.show.open("w", encoding="utf-8") as file:
        for number, fix in enumerate(drawn(fixes, given.most, given.seed, known), 1):
            table.writerow([fix.repository.replace("+", "/"), commits[fix.repository], fix.path, fix.line, fix.code, fix.kind, "", ""])
            file.write(f"##### {number} {fix.code} {fix.kind} {fix.repository} {fix.path}:{fix.line}\n{fix.item['message']}\n"
                       f"{fix.item['fix']['message']}\n{shown(places[fix.repository], fix, given.around)}\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
