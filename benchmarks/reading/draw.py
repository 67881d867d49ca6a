"""Draws the training programs that are read: `python draw.py WILD NAMED SEED HOW_MANY [CSV...]`.

WILD is a folder of many small repositories, NAMED one of the repositories that README.md here names. Half of what is drawn is of
each. Repositories are drawn first, and then a program of each, so that a repository of a thousand recipes counts as one; of the
named ones at most three programs are taken. What stands in a CSV is left out.
"""

import csv
import random
import re
import sys
from pathlib import Path

TRAINS = re.compile(r"\.backward\(|Trainer\(|Trainer\)|\.fit\(|\btraining_step\b|\bfit_batch\b")
STEPS = re.compile(r"\.step\(|Trainer|Brain\b|Lightning|\.fit\(|torch\.optim")
TORCH = re.compile(r"^\s*(import|from) (torch|pytorch_lightning|lightning|speechbrain|trl|peft|transformers|stable_baselines3)\b", re.M)
LINES = range(40, 701)
OF_ONE_NAMED = 3


def programs(repository: Path) -> list[Path]:
    found = []
    for path in sorted(repository.rglob("*.py")):
        if re.search(r"(^|/)(tests?|test_[^/]*|conftest\.py)(/|$)", str(path.relative_to(repository))):
            continue
        text = path.read_text("utf-8", "replace")
        if text.count("\n") in LINES and TRAINS.search(text) and STEPS.search(text) and TORCH.search(text):
            found.append(path)
    return found


def draw(root: Path, how_many: int, of_one: int, dice: random.Random, seen: set[str]) -> list[Path]:
    repositories = [path for path in sorted(root.iterdir()) if path.is_dir()] * of_one
    dice.shuffle(repositories)
    taken: list[Path] = []
    for repository in repositories:
        left = [path for path in programs(repository) if str(path.relative_to(root)) not in seen and path not in taken]
        if left and len(taken) < how_many:
            taken.append(dice.choice(left))
    return taken


def main() -> None:
    wild, named, seed, how_many, *tables = sys.argv[1:]
    seen = set()
    for table in tables:
        with open(table, newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                seen |= {f"{row['repository'].replace('/', '+')}/{row['path']}", row["path"].removeprefix("GHData/")}
    dice = random.Random(int(seed))
    half = int(how_many) // 2
    rows = [*draw(Path(wild), half, 1, dice, seen), *draw(Path(named), int(how_many) - half, OF_ONE_NAMED, dice, seen)]
    dice.shuffle(rows)
    for path in rows:
        print(path)


if __name__ == "__main__":
    main()
