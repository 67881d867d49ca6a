"""Mistakes planted by a machine in anybody's training code: how many torchlint names.

    python benchmarks/planting.py FOLDER [FOLDER...] [--half tune|held] [--each 20] [--only 203-train] [--diff 5] [--alone]

Each operator of `planting_operators.py` makes one mistake of one number by a rule of syntax (`model.train()` is deleted: 203) wherever
it finds a place for it. Of a file one place is drawn; files are split in two halves by the hash of their text, so that one half can be
looked at while the other stays unseen. A planting counts where the number is told of the file with it and not of the file
as it was. `--diff N` shows N that are not found. What is planted is not always a mistake: look at some before a figure is believed.
"""

import argparse
import ast
import collections
import difflib
import hashlib
import json
import random
import signal
from pathlib import Path

from planting_operators import OPERATORS, Source

from torchlint.catalogue.pages import DEFAULT_GROUPS, catalogue
from torchlint.engine import Engine

SECONDS = 60
LONGEST = 40_000  # characters


class Late(Exception):
    pass


def half(text: str) -> str:
    return "tune" if int(hashlib.md5(text.encode()).hexdigest(), 16) % 2 else "held"


def is_test(path: Path) -> bool:
    """Most rules say nothing of tests."""
    return path.name.startswith("test_") or path.name.endswith("_test.py") or bool({"test", "tests"} & set(path.parts))


def programs(folders):
    """(path, text) of the files that could train, each text once, in an order that is drawn"""
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.py") if not is_test(path.relative_to(folder)))
    random.Random(16).shuffle(paths)
    seen = set()
    for path in paths:
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError):
            continue
        if "torch" in text and 400 < len(text) < LONGEST and text not in seen:
            seen.add(text)
            yield path, text


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def draw(folders, which, each, only):
    """{operator: [(path, text, planted)]}"""
    plantings = {name: [] for name in OPERATORS if not only or any(name.startswith(part) for part in only)}
    for path, text in programs(folders):
        if half(text) != which or all(len(found) >= each for found in plantings.values()):
            continue
        try:
            source = Source(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for name, found in plantings.items():
            if len(found) < each:
                ways = [way for way in OPERATORS[name][1](source) if way != text and parses(way)]
                if ways:
                    found.append((path, text, random.Random(str(path)).choice(ways)))
    return plantings


def rows(engine, path, text, number):
    """How often the number is told; None where there is no verdict in time."""
    def late(*_):
        raise Late

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        return sum(finding.number == number for finding in engine.check(str(path), text).findings)
    except (Late, SyntaxError, RecursionError):
        return None
    finally:
        signal.alarm(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--half", choices=("tune", "held"), default="held")
    parser.add_argument("--each", type=int, default=20, help="plantings an operator")
    parser.add_argument("--only", nargs="*", default=[], help="operators, by how their names begin")
    parser.add_argument("--diff", type=int, default=0, help="show so many that are not found")
    parser.add_argument("--alone", action="store_true", help="with the number's own rule, not with the default ones; quicker")
    parser.add_argument("--out", help="a JSON file: operator -> [[path, found]]")
    given = parser.parse_args()
    pages = tuple(catalogue())
    told = collections.defaultdict(list)
    for name, plantings in draw(given.folders, given.half, given.each, given.only).items():
        number = OPERATORS[name][0]
        engine = Engine(tuple(page for page in pages if page.code == number or page.group in DEFAULT_GROUPS and not given.alone))
        shown = 0
        for path, text, planted in plantings:
            after = rows(engine, path, planted, number)
            if after and after <= (rows(engine, path, text, number) or 0):
                continue  # told already of the file as it was
            told[name].append([str(path), bool(after)])
            if not after and shown < given.diff:
                shown += 1
                print(f"--- {path}{'' if after == 0 else ' (no verdict)'}")
                lines = difflib.unified_diff(text.splitlines(), planted.splitlines(), lineterm="", n=2)
                print("\n".join(line[:150] for line in list(lines)[2:]))
        print(f"{name}: {sum(found for _, found in told[name])} of {len(told[name])}", flush=True)
        if given.out:
            Path(given.out).write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
