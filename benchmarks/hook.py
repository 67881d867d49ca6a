"""How long a commit waits for the hook: one edit in a file of a project whose verdicts are in the cache.

    python benchmarks/hook.py OpenNMT-py/ --edits 10 --check

Copies the folder, judges all of it once, and then, edit by edit, judges the file that was edited as pre-commit does: `torchlint FILE`,
which is the verdict of the whole project, and `torchlint --alone FILE`. After each edit the file and the cache are put back. Files are
drawn by chance from those that define functions, with one seed for all kinds of edits. CPU seconds of the command with all that it
starts. With `--check` the same is judged without a cache, and what is told has to be the same. Writes its part of RESULTS.md, between
its marks.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from results import put  # noqa: E402

_NEW = "def _flat_of_{name}(x):\n    y = x.view(x.size(0), -1)\n    return y.float()\n\n\n"


def _in_a_function(text: str, chance: random.Random) -> str:
    """A statement more at the end of a function."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    last = chance.choice(functions).body[-1]
    lines = text.splitlines(keepends=True)
    indent = lines[last.lineno - 1][: last.col_offset]
    if indent.strip():
        return text + "\n"
    return "".join([*lines[: last.lineno - 1], f"{indent}edited = 1\n", *lines[last.lineno - 1 :]])


def _new_function(text: str, chance: random.Random) -> str:
    """A function that nobody calls yet."""
    node = chance.choice([node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))])
    row = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:row], _NEW.format(name=node.name.lower()), *lines[row:]])


def _new_import(text: str, chance: random.Random) -> str:
    """An import of Python's own before the first one, and a function that uses it."""
    row = next((node.lineno for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))), 1) - 1
    lines = _new_function(text, chance).splitlines(keepends=True)
    made = "".join([*lines[:row], "import fractions\n", *lines[row:]])
    return made.replace("return y.float()\n", "return y.float(), fractions.Fraction(1, 2)\n", 1)


def _comment(text: str, _: random.Random) -> str:
    """A comment at the end."""
    return text + "\n# edited\n"


EDITS: dict[str, Callable[[str, random.Random], str]] = {
    "a comment": _comment, "a statement in a function": _in_a_function, "a new function": _new_function,
    "an import and a function that uses it": _new_import,
}


def _defines(path: Path) -> bool:
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.FunctionDef) for item in body for node in ast.walk(item))


def judged(folder: Path, *arguments: str) -> tuple[float, str]:
    """The CPU seconds of a command, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "torchlint", *arguments, "--output-format", "concise"], cwd=folder, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def measured(folder: Path, edits: int, check: bool) -> dict[str, list[tuple[str, float, float, bool]]]:
    """By kind of edit: the files, the seconds for the project's verdict and for the file's alone, whether the former holds."""
    files = [path for path in sorted(folder.rglob("*.py")) if _defines(path)]
    judged(folder, ".")
    chance, found = random.Random(15), {kind: [] for kind in EDITS}
    for path in chance.sample(files, min(edits, len(files))):
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(folder))
        for kind, edit in EDITS.items():
            kept = folder.with_name("cache")
            shutil.copytree(folder / ".torchlint_cache", kept)
            path.write_text(edit(text, random.Random(name)), encoding="utf-8")
            seconds, told = judged(folder, name)
            holds = not check or told == judged(folder, name, "--no-cache")[1]
            alone, _ = judged(folder, name, "--alone", "--no-cache")
            found[kind].append((name, seconds, alone, holds))
            print(f"{kind:40} {name:45} {seconds:6.2f} {alone:6.2f}{'' if holds else '  OTHER WITHOUT A CACHE'}", flush=True)
            path.write_text(text, encoding="utf-8")
            shutil.rmtree(folder / ".torchlint_cache")
            kept.rename(folder / ".torchlint_cache")
    return found


def told(found: dict[str, list[tuple[str, float, float, bool]]], name: str, check: bool) -> str:
    """The part of RESULTS.md."""
    rows = [
        f"| {kind} | {statistics.median(all_of):.2f} s | {sum(one <= 2 for one in all_of)} of {len(all_of)} | {max(all_of):.1f} s | "
        f"{statistics.median(alone for _, _, alone, _ in items):.2f} s |"
        for kind, items in found.items() if (all_of := [seconds for _, seconds, _, _ in items])
    ]
    same = sum(holds for items in found.values() for *_, holds in items)
    return f"""## How long a commit waits for the hook

`python benchmarks/hook.py`, {date.today()}: one edit in a file of {name}, whose verdicts are in the cache; CPU seconds of `torchlint FILE`,
which is the verdict of the whole project, and of `--alone`.{f" Told was the same as without a cache after {same} of {sum(map(len, found.values()))} edits." if check else ""}
Load average {os.getloadavg()[1]:.1f}; {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.

| edit | median | within 2 s | the longest | `--alone`, median |
| --- | --- | --- | --- | --- |
""" + "\n".join(rows)


def main() -> None:
    """Reads the command line, measures, and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edits", type=int, default=20, help="files that are edited, once in each way")
    parser.add_argument("--check", action="store_true", help="judge each without a cache, too")
    parser.add_argument("--dry", action="store_true", help="leave RESULTS.md as it is")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / asked.folder.resolve().name
        shutil.copytree(asked.folder, folder, ignore=shutil.ignore_patterns(".git", ".torchlint_cache"))
        (folder / "setup.cfg").touch()
        text = told(measured(folder, asked.edits, asked.check), folder.name, asked.check)
    print(text)
    if not asked.dry:
        put("hook", text)


if __name__ == "__main__":
    main()
