"""Tries `torchlint --fix --unsafe-fixes` on real code: a copy of a folder is mended and looked at.

    python tools/fix_loop.py FOLDER [--select ALL] [--jobs N] [--diff FILE]
    python tools/fix_loop.py FOLDER --execute [--select ALL] [--unsafe]

Of each changed file it is asked whether it still compiles (unless it did not before), and whether it has a finding that
it did not have, by any rule: a finding counts as known where the same rule had one on the line that stands there now; and
whether `patch` makes the same of it with what `--diff` prints. Then everything is mended a second time, which has to change nothing. Prints a table by rule, and what went wrong; the
exit status is 1 if anything did. FOLDER itself is only read.

With --execute, programs are run before and after it instead: see fix_execute.py. Without --unsafe and --select, only the safe
fixes are made that change no number: after them each program has to print what it printed, and have the losses that it had, to
the last digit. Run it on code that you would run anyway.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchlint.files.parse import parse_source
from torchlint.files.source import SourceError

_TALLY = re.compile(r"(TL\d+) (\d+)")
# The rules whose safe fixes change no number of a program that works. Those of 132, 204, 405, 522, 523, 904 and 906 let a line do
# what it says, which it did not.
KEEP_NUMBERS = ("TL106", "TL202", "TL402", "TL406", "TL503", "TL708", "TL811", "TL941", "TL942")
_AT_ONCE = 200  # files named on one command line


def torchlint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs torchlint in a folder, without any settings."""
    command = [sys.executable, "-m", "torchlint", "--isolated", "--exit-zero", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def mend(folder: Path, options: Sequence[str]) -> tuple[Counter, list[str]]:
    """Mends a folder.

    Returns:
        How often each rule's fix was applied, and the lines that report a failure.
    """
    done = torchlint(folder, "--fix", "--unsafe-fixes", "--output-format", "json", *options, ".")
    tally: Counter = Counter()
    trouble = []
    for line in done.stderr.splitlines():
        if line.startswith("torchlint: mended "):
            tally.update({code: int(count) for code, count in _TALLY.findall(line)})
        elif "internal error" in line or "cannot be mended" in line or line.startswith(("Traceback", "Error")):
            trouble.append(line)
    return tally, trouble


def changed(before: Path, after: Path) -> list[str]:
    """The files that are not what they were, by their names in the folder."""
    files = (path for path in sorted(after.rglob("*")) if path.is_file() and not path.is_symlink())
    names = (str(path.relative_to(after)) for path in files)
    return [name for name in names if _content(before / name) != (after / name).read_bytes()]


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def compiles(path: Path) -> bool:
    """Whether a module, or the code of a notebook's cells, compiles."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(parse_source(str(path), path.read_bytes()).text, str(path), "exec", dont_inherit=True)
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def rows(path: Path) -> list[str]:
    """The text of a file, row by row; all cells of a notebook one after the other."""
    try:
        return parse_source(str(path), path.read_bytes()).lines()
    except SourceError:
        return []


def findings(folder: Path, names: Sequence[str], options: Sequence[str]) -> dict[str, Counter]:
    """What every rule says of some files: how often each (row, code) is met. A notebook's rows count through all cells."""
    found: dict[str, Counter] = {name: Counter() for name in names}
    for at in range(0, len(names), _AT_ONCE):
        some = names[at : at + _AT_ONCE]
        told = torchlint(folder, "--select", "ALL", "--output-format", "json", *options, *some)
        for item in json.loads(told.stdout or "[]"):
            name = os.path.normpath(item["filename"])
            if name in found:
                found[name][_row(folder / name, item["cell"], item["location"]["row"]), item["code"]] += 1
    return found


def _row(path: Path, cell: int | None, row: int) -> int:
    return row if cell is None else parse_source(str(path), path.read_bytes()).rows.index((cell, row)) + 1


def gained(old: Sequence[str], new: Sequence[str], before: Counter, after: Counter) -> Iterator[tuple[int, str]]:
    """The (row, code) of findings of the new text that the old one has not where the same line stands. Of lines that
    take the place of others, any may be meant."""
    place: dict[int, range] = {}
    bare = [[line.strip() for line in text] for text in (old, new)]  # whole blocks may be indented
    for kind, i, k, j, n in difflib.SequenceMatcher(None, *bare, autojunk=False).get_opcodes():
        for row in range(j, n):
            same = i + row - j + 1
            place[row + 1] = range(same, same + 1) if kind == "equal" else range(i + 1, max(k, i + 1) + 1)
    left = Counter(before)
    for (row, code), count in sorted(after.items()):
        for _ in range(count):
            known = next((at for at in place.get(row, ()) if left[at, code]), None)
            if known is None:
                yield row, code
            else:
                left[known, code] -= 1


def unlike_patched(before: Path, after: Path, names: Sequence[str], options: Sequence[str]) -> list[str]:
    """What is wrong with the text of `--diff`: `patch` has to make of the old files what `--fix` makes of them."""
    if not names:
        return []
    command = [sys.executable, "-m", "torchlint", "--isolated", "--exit-zero", "--diff", "--unsafe-fixes", *options, "."]
    told = subprocess.run(command, cwd=before, stdout=subprocess.PIPE).stdout  # as bytes: line ends stay as they are
    parts = re.split(rb"(?m)^(?=--- .*\n\+\+\+ )", told)
    text = b"".join(part for part in parts if b":cell " not in part.partition(b"\n")[0])  # of notebooks, patch knows nothing
    with tempfile.TemporaryDirectory(prefix="fix-loop-") as place:
        for name in names:
            Path(place, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(before / name, Path(place, name))
        done = subprocess.run(["patch", "-p0", "--binary", "-s"], cwd=place, input=text, capture_output=True)
        if done.returncode:
            return [f"patch: {line}" for line in done.stdout.decode(errors="replace").splitlines()]
        return [f"{name}: --diff says another text than --fix writes" for name in names
                if Path(place, name).read_bytes() != (after / name).read_bytes()]


def try_folder(folder: Path, options: Sequence[str], diff: Path | None) -> tuple[Counter, list[str], int]:
    """Mends a copy of a folder and looks at what came of it.

    Returns:
        How often each rule's fix was applied, a line for each thing that is wrong, and how many files were changed.
    """
    with tempfile.TemporaryDirectory(prefix="fix-loop-") as place:
        before, after, cache = Path(place, "before"), Path(place, "after"), Path(place, "cache")
        for copy in (before, after):
            shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        common = ["--cache-dir", str(cache), *options]
        tally, wrong = mend(after, common)
        names = changed(before, after)
        if diff is not None:
            with diff.open("a", encoding="utf-8") as file:
                for name in names:
                    old, new = ([line + "\n" for line in rows(copy / name)] for copy in (before, after))
                    file.writelines(difflib.unified_diff(old, new, name, name))
        broken = [name for name in names if compiles(before / name) and not compiles(after / name)]
        wrong += [f"{name}: does not compile any more" for name in broken]
        judged = [option for option in common if not option.startswith("--select")]
        was, now = findings(before, names, judged), findings(after, names, judged)
        for name in names:
            wrong += [f"{name}:{row}: gained {code}" for row, code in
                      gained(rows(before / name), rows(after / name), was[name], now[name])]
        wrong += unlike_patched(before, after, [name for name in names if name.endswith(".py")], common)
        once = {name: (after / name).read_bytes() for name in names}
        mend(after, common)
        again = [name for name in changed(before, after) if once.get(name) != (after / name).read_bytes()]
        wrong += [f"{name}: changes again" for name in again]
        return tally, wrong, len(names)


def execute(folders: Sequence[Path], options: Sequence[str], unsafe: bool, planted: bool) -> int:
    """Runs the programs of folders before and after, and prints a line for each; 1 where one differs."""
    from fix_execute import compare

    count: Counter = Counter()
    print("| program | verdict | places mended | |\n|---|---|---|---|")
    for folder in folders:
        for program, verdict, words, mended in compare(folder.resolve(), options, unsafe, planted):
            count[verdict] += 1
            print(f"| {folder.name}/{program} | {verdict} | {mended or ''} | {words} |", flush=True)
    print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items())))
    return 1 if count["differs"] and not unsafe else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+")
    parser.add_argument("--select", default="ALL", help="the rules whose fixes are tried (default: all)")
    parser.add_argument("--jobs", default="1", help="processes")
    parser.add_argument("--diff", type=Path, help="a file that every change is added to")
    parser.add_argument("--execute", action="store_true", help="run the programs before and after, and compare")
    parser.add_argument("--unsafe", action="store_true", help="with --execute: make unsafe fixes, too, and say what differs")
    parser.add_argument("--plant", action="store_true", help="with --execute: plant mistakes first (see fix_plant.py)")
    given = parser.parse_args()
    if given.execute:
        select = ",".join(KEEP_NUMBERS) if given.select == "ALL" and not given.unsafe else given.select
        return execute(given.folder, [f"--select={select}"], given.unsafe, given.plant)
    tally, wrong, files = Counter(), [], 0
    for folder in given.folder:
        some, lines, count = try_folder(folder.resolve(), [f"--select={given.select}", "-j", given.jobs], given.diff)
        tally += some
        wrong += [f"{folder}/{line}" for line in lines]
        files += count
    print("| rule | mended |\n|---|---|")
    for code, count in sorted(tally.items()):
        print(f"| {code} | {count} |")
    print(f"\n{sum(tally.values())} findings mended in {files} files; {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
