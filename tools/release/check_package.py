"""Builds the package twice, and says what is wrong with it.

    python tools/release/check_package.py OUT        leaves the sdist and the wheel in OUT

Checked are: both builds are the same, byte for byte, and so is the wheel that is built from the sdist; `twine check --strict`; the
wheel holds what runs and nothing else; the sdist holds what its tests need; CHANGELOG and the tag, if one is given, tell of that version.
Exit status: 0 all is well, 1 something is not, each in a line.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_THE_WHEEL = re.compile(r"(torchlint|torchsan)/|torchlint-[^/]+\.dist-info/")
NEVER = re.compile(r"(^|/)(__pycache__|\.[^/]+_cache|tests?|fixtures|benchmarks)/|\.pyc$")
MUST_HAVE = (
    "torchlint/py.typed", "torchsan/py.typed", "torchlint/SKILL.md", "torchlint/report/output_schema.json", "torchlint/_rules/pages.msgpack",
)
SDIST_MUST_HAVE = ("src", "rules", "tests", "fixtures", "examples", "docs", "benchmarks", "tools", "pyproject.toml", "LICENSE", "PKG-INFO")


def main() -> int:
    """Build, check, tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder for the sdist and the wheel")
    parser.add_argument("--isolated", action="store_true", help="build in environments of their own, as an index would; needs a network")
    parser.add_argument("--tag", help="the tag that is released, such as v0.1.0: CHANGELOG must tell of that version first")
    arguments = parser.parse_args()
    wrong = list(problems(arguments.out, arguments.isolated, arguments.tag))
    for line in wrong:
        print(line)
    if not wrong:
        print("\n".join(f"{path.name}  {path.stat().st_size:,} bytes" for path in sorted(arguments.out.glob("torchlint-*"))))
    return bool(wrong)


def problems(out: Path, isolated: bool = False, tag: str | None = None) -> Iterator[str]:
    """What is wrong with the package, a line each."""
    sdist, wheel = build(ROOT, out, isolated)
    with tempfile.TemporaryDirectory() as folder:
        again = build(ROOT, Path(folder, "again"), isolated)
        with tarfile.open(sdist) as file:
            file.extractall(folder, filter="data")
        unpacked = Path(folder, sdist.name.removesuffix(".tar.gz"))
        from_sdist = build(unpacked, Path(folder, "from_sdist"), isolated)[1]
        for one, other, how in ((sdist, again[0], "twice"), (wheel, again[1], "twice"), (wheel, from_sdist, "from the sdist")):
            if one.read_bytes() != other.read_bytes():
                yield f"{one.name}: built {how}, it is not the same"
        missing = [name for name in SDIST_MUST_HAVE if not (unpacked / name).exists()]
        if missing:
            yield f"{sdist.name}: without {', '.join(missing)}"
    told = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", str(sdist), str(wheel)], capture_output=True, text=True
    )
    if told.returncode:
        yield (told.stdout + told.stderr).strip()
    names = zipfile.ZipFile(wheel).namelist()
    yield from (f"{wheel.name}: {name} does not belong there" for name in names if not OF_THE_WHEEL.match(name) or NEVER.search(name))
    yield from (f"{wheel.name}: without {name}" for name in MUST_HAVE if name not in names)
    pages = {f"torchlint/_{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "rules").rglob("*.md")}
    if missing := sorted(pages - set(names)):
        yield f"{wheel.name}: without {', '.join(missing)}"
    yield from told_by_changelog(version_of(wheel), (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), tag)


def build(tree: Path, out: Path, isolated: bool) -> tuple[Path, Path]:
    """The sdist and the wheel of a tree.

    Raises:
        RuntimeError: it could not be built; the text is the builder's.
    """
    done = subprocess.run(
        [sys.executable, "-m", "build", *([] if isolated else ["--no-isolation"]), "--outdir", str(out), str(tree)],
        capture_output=True, text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stdout + done.stderr).strip())
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def version_of(wheel: Path) -> str:
    """The version in a wheel's name."""
    return wheel.name.split("-")[1]


def told_by_changelog(version: str, text: str, tag: str | None) -> Iterator[str]:
    """What is wrong with CHANGELOG's first heading and the tag. "Unreleased" is right as long as nothing is tagged."""
    headings = re.findall(r"^## (\S+)", text, re.MULTILINE) or [""]
    if tag is not None and tag != f"v{version}":
        yield f"the tag is {tag}, and src/torchlint/__init__.py has {version}"
    if headings[0] != version and (tag is not None or headings[0] != "Unreleased"):
        yield f"CHANGELOG.md: its first heading is {headings[0] or 'missing'}, and the version {version}"


if __name__ == "__main__":
    sys.exit(main())
