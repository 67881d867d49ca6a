"""Writes src/torchlint/catalogue/hosted_names.json: what transformers and accelerate no longer have, by release.

    python tools/hosted_names.py WHEEL...

Each WHEEL is a release as `pip download --no-deps transformers==4.46.3` gives it. None of them is run: a name was there if the package's
`__init__.py` named it, and is there as long as any file of the package defines it. The newest release must be among the wheels, and
be installed: what it still gives under a name that no file defines (an alias that it makes as it is asked) is no gone name.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import zipfile
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src/torchlint/catalogue/hosted_names.json"
_DEFINED = re.compile(r"^(?:(?:async )?def|class) (\w+)|^(\w+)\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
# Those of other frameworks, lists of files to download, and what asks for a library.
_NOT_ASKED = re.compile(r"^(?:TF|Flax|FLAX|_)|ARCHIVE|^is_\w+_available$|^\*$")
Release = tuple[int, int]


def read(wheel: Path) -> tuple[str, Release, set[str], set[str]]:
    """A package, its release, the names at its top that its text tells, and all that its files define."""
    package, version = wheel.name.split("-")[:2]
    defined: set[str] = set()
    with zipfile.ZipFile(wheel) as files:
        for path in files.namelist():
            if path.startswith(f"{package}/") and path.endswith(".py"):
                found = _DEFINED.findall(files.read(path).decode(errors="replace"))
                defined.update(name for pair in found for name in pair if name)
        tree = ast.parse(files.read(f"{package}/__init__.py"))
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level)
    top = {alias.asname or alias.name for node in imports for alias in node.names}
    return package, tuple(map(int, version.split(".")[:2])), top, defined


def main(wheels: list[str]) -> None:
    """Writes the table."""
    known: dict[str, dict[Release, tuple[set[str], set[str]]]] = {}
    for wheel in wheels:
        package, release, top, defined = read(Path(wheel))
        known.setdefault(package, {})[release] = top, defined
    gone = {package: _gone(package, releases) for package, releases in sorted(known.items())}
    TARGET.write_text(json.dumps(gone, indent=0, sort_keys=True) + "\n")


def _gone(package: str, known: dict[Release, tuple[set[str], set[str]]]) -> dict[str, dict[str, str]]:
    """By name, the last known release that has it, and the next one."""
    order = sorted(known)
    installed = importlib.import_module(package)
    if tuple(map(int, installed.__version__.split(".")[:2])) != order[-1]:
        sys.exit(f"{package} {installed.__version__} is installed, and the newest wheel is another release")
    found = {}
    for name in sorted(set().union(*(top for top, _ in known.values()))):
        has = [release for release in order if name in known[release][1]]
        if has and has[-1] != order[-1] and not _NOT_ASKED.search(name) and not hasattr(installed, name):
            by = order[order.index(has[-1]) + 1]
            found[name] = {"after": "{}.{}".format(*has[-1]), "by": "{}.{}".format(*by)}
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
