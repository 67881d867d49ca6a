"""Fill the marked places of README and docs/report.md with what the tools really print.

    python docs/update_readme.py           # write them anew
    python docs/update_readme.py --check   # change nothing; exit status 1 where a page is not up to date

A marked place is a comment `<!-- output: COMMAND -->` and the ```text block under it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "report.md")
PLACE = re.compile(r"(?P<head><!-- output: (?P<command>[^\n]+?) -->\n+```text\n)(?P<body>.*?)(?P<tail>^```$)", re.S | re.M)
# What keeps the output the same on every machine and out of caches.
ENVIRONMENT = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1",
               "TORCHLINT_OUTPUT_FORMAT": "full"}


def commands(text: str) -> list[str]:
    """The commands of the marked places."""
    return [match["command"] for match in PLACE.finditer(text)]


def can_run(command: str) -> bool:
    """Whether the tool that a command names, and what it needs, are here."""
    tool = shlex.split(command)[0]
    if find_spec(tool) is None or find_spec(f"{tool}.__main__") is None:
        return False
    return tool != "torchsan" or find_spec("torch") is not None


def output(command: str) -> str:
    """What a command prints, under the line that a reader would type."""
    tool, *options = shlex.split(command)
    if tool == "torchlint":
        options.append("--no-cache")
    done = subprocess.run(
        [sys.executable, "-m", tool, *options], cwd=ROOT, env={**os.environ, **ENVIRONMENT}, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: exit status {done.returncode}\n{done.stdout}")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join([f"$ {command}", *lines]).rstrip() + "\n"


def fill(text: str) -> str:
    """`text` with all marked places filled whose tool is here."""

    def filled(match: re.Match[str]) -> str:
        command = match["command"]
        body = output(command) if can_run(command) else match["body"]
        return match["head"] + body + match["tail"]

    return PLACE.sub(filled, text)


def main() -> int:
    stale = []
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = fill(old)
        if old != new:
            stale.append(page.name)
            if "--check" not in sys.argv[1:]:
                page.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"not up to date: {', '.join(stale)}: run python docs/update_readme.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
