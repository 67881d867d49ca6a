"""Which releases of torch, torchvision, torchtext, transformers and accelerate a project runs on, as its own requirements tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchlint.catalogue.pages import tomllib
from torchlint.files.reading import read_bytes
from torchlint.settings.upper_bounds import Release, newest

PACKAGES = ("torch", "torchvision", "torchtext", "transformers", "accelerate")
_NAME = "|".join(PACKAGES)
_REQUIREMENT = re.compile(rf"""["']?(?P<name>{_NAME}) ?(?:\[[^\]]*\])? ?\(? ?(?P<bounds>[=<>~!][^;#"')\\]*)""", re.IGNORECASE)
# The bounds that nearly all projects have. `packaging`, which reads the others, takes a tenth of a small run's time to load.
_OTHER = r"(?:<=?|!=) ?[0-9]+(?:\.[0-9]+)*"
_PLAIN = re.compile(
    rf"(?:{_OTHER} ?, ?)*[=>~]= ?([0-9]{{1,6}})(?:\.([0-9]{{1,6}})(?:\.[0-9]+)*)?(?: ?, ?{_OTHER})* ?"
)
_FROM_BELOW = ("==", "===", ">=", "~=", ">")
_BEFORE_NO_GRAD = re.compile(r"< ?0\.4(?:\.0)?|<=? ?0\.[0-3](?:\.[0-9]+)?")
# conda's: a list item, perhaps with a channel before the name; one equals sign is enough there.
_CONDA = re.compile(rf"""^ ?- ?["']?(?:[\w./-]+::)?(?:py)?(?P<name>{_NAME}) ?(?P<bounds>[=<>~!][^#"']*)""")
# A list that conda has exported, or a name of conda's, in a file for pip: `pytorch=1.4.0=py3.7_0`, `torchvision=0.5.0=py37_0`, `pytorch>=1.4`.
_EXPORTED = re.compile(rf"(?:[\w./-]+::)?(?:pytorch ?[=<>~!]|(?:{_NAME})=[0-9][^=]*=)")
_MOST_BYTES = 2_000_000
_MOST_CHARACTERS = 2_000  # of one line: a requirement has fewer, and patterns take their time over long ones


def required(root: Path) -> dict[str, Any]:
    """What settings take from the requirements in a folder: `torch_version`, the lowest torch, `releases`, the lowest of the other
    packages, and `newest`, the newest of them all."""
    lowest, ends = _lowest_and_newest(root)
    return {"torch_version": lowest.pop("torch", None), "releases": tuple(sorted(lowest.items())), "newest": tuple(sorted(ends.items()))}


def without_torch(releases: tuple[tuple[str, Release], ...]) -> tuple[tuple[str, Release], ...]:
    """Releases by package, without that of torch: somebody says by which torch to judge."""
    return tuple((name, release) for name, release in releases if name != "torch")


def lowest_releases(root: Path) -> dict[str, Release]:
    """The lowest releases, as (major, minor), that the requirements in `root` admit, by package: pyproject.toml, setup.cfg,
    setup.py, requirements*.txt and environment*.yml. A package of which they set no lower bound is not there. Files that cannot
    be read say nothing.
    """
    return _lowest_and_newest(root)[0]


def newest_releases(root: Path) -> dict[str, Release]:
    """The newest releases that the same requirements admit, by package; where several lines have one, that of the narrowest."""
    return _lowest_and_newest(root)[1]


def _lowest_and_newest(root: Path) -> tuple[dict[str, Release], dict[str, Release]]:
    lowest: dict[str, Release] = {}
    ends: dict[str, Release] = {}
    for line in _lines(root):
        found = _bounds(" ".join(line.split())) if len(line) <= _MOST_CHARACTERS else None
        if found is None:
            continue
        name, bounds = found
        bound, end = _lower_bound(name, bounds), newest(bounds)
        if bound is not None:
            lowest[name] = min(bound, lowest.get(name, bound))
        ends[name] = min(end, ends.get(name, end))
    return lowest, ends


def _bounds(line: str) -> tuple[str, str] | None:
    """The package and the bounds of a requirement, as pip reads them; None for other packages."""
    found = _REQUIREMENT.match(line)
    if not found:
        return None
    # What pip refuses, and people write all the same: `>=2.0.0+cu118`, `>=1.7.*`, `>=1.7.1<2.0.0`.
    bounds = re.sub(r"== ?([0-9]{1,6})\.\*", _any_of_major, found["bounds"].partition(" -")[0])
    bounds = re.sub(r"\.\*|\+[\w.-]+", "", bounds)
    return found["name"].lower(), re.sub(r"(?<=\w) ?(?=[<>=!~])", ",", bounds)


def _any_of_major(found: re.Match[str]) -> str:
    """`==1.*` as `>=1,<2`; `==1` is 1.0 and no other."""
    return f">={found[1]},<{int(found[1]) + 1}"


def _lower_bound(name: str, bounds: str) -> Release | None:
    if name == "torch" and _BEFORE_NO_GRAD.fullmatch(bounds.strip(" ,")):
        return (0, 3)  # it has no lower bound, and says all the same that it is another torch
    plain = _PLAIN.fullmatch(bounds)
    return (int(plain[1]), int(plain[2] or 0)) if plain else _lowest(bounds)


def _lowest(bounds: str) -> Release | None:
    """The lowest release within bounds as pip reads them; None where there is none, or they are not for pip to read."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    try:
        lower = [Version(one.version).release for one in SpecifierSet(bounds) if one.operator in _FROM_BELOW]
    except ValueError:
        return None
    releases = [(*release, 0)[:2] for release in lower]
    return max((release for release in releases if max(release) < 1_000_000), default=None)


def _lines(root: Path) -> Iterator[str]:
    """Everything that may be a requirement, one a line."""
    yield from _of_pyproject(_read(root / "pyproject.toml"))
    yield from _of_setup(_read(root / "setup.py"))
    yield from _of_setup_cfg(_read(root / "setup.cfg"))
    for path in _found(root, "requirements*.txt", "requirements/*.txt"):
        yield from _of_pip(_read(path))
    for path in _found(root, "environment*.yml", "environment*.yaml"):
        yield from _of_conda(_read(path))


def _of_setup_cfg(text: str) -> list[str]:
    if "install_requires" not in text:
        return []
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_file(line for line in text.splitlines() if len(line) <= _MOST_CHARACTERS)
        return parser.get("options", "install_requires", fallback="").splitlines()
    except (configparser.Error, ValueError, AttributeError):  # the last two: bugs of configparser that odd text meets
        return []


def _found(root: Path, *patterns: str) -> list[Path]:
    try:
        return sorted(path for pattern in patterns for path in root.glob(pattern))
    except OSError:
        return []


def _of_pip(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if len(line) <= _MOST_CHARACTERS and _EXPORTED.match(line):
            yield from _of_conda(f"- {line}")
        else:
            yield line


def _of_conda(text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = _CONDA.match(" ".join(line.split())) if len(line) <= _MOST_CHARACTERS else None
        if match:
            # A build stands behind the version: `=1.9.0=py3.8_cuda`.
            yield from _for_pip(match["name"], re.sub(r"(?<=[\w.*]) ?=(?!=).*", "", match["bounds"]))


def _of_setup(text: str) -> Iterator[str]:
    """The texts in the lists of a setup.py, which is not run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            texts = (item.value for item in node.elts if isinstance(item, ast.Constant))
            yield from (text for text in texts if isinstance(text, str))


def _of_pyproject(text: str) -> Iterator[str]:
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError):  # a number of thousands of digits is no TOMLDecodeError
        return
    listed = _table(data, "project").get("dependencies")
    if isinstance(listed, list):
        yield from (item for item in listed if isinstance(item, str))
    extras = (_table(data, "project", "optional-dependencies"), _table(data, "dependency-groups"))
    for extra in (listed for table in extras for listed in table.values()):
        if isinstance(extra, list):
            yield from (item for item in extra if isinstance(item, str))
    groups = _table(data, "tool", "poetry", "group")
    for table in (_table(data, "tool", "poetry"), *(_table(groups, name) for name in groups)):
        for name in PACKAGES:
            version = _table(table, "dependencies").get(name)
            version = version.get("version") if isinstance(version, dict) else version
            if isinstance(version, str):
                yield from _for_pip(name, version)


def _for_pip(name: str, version: str) -> Iterator[str]:
    """Requirements for what poetry and conda write: `^2.1`, `~2.1`, `=2.1`, `2.1`, with `|` where one of several may hold."""
    for part in version.split("|"):
        bounds = re.sub(r"(\^|~)(?!=) ?([0-9]+)(?:\.([0-9]+))?", _caret_or_tilde, part.strip())
        bounds = re.sub(r"\^|~(?!=)", ">=", bounds)
        bounds = re.sub(r"^= ?([0-9]+)$", r"==\1.*", bounds)  # to conda, `=1` is any release of 1
        yield f"{name} " + re.sub(r"^=?(?=[\w ])", "==", bounds)


def _caret_or_tilde(found: re.Match[str]) -> str:
    """`^2.1` as `<3,>=2.1`, `^0.4` as `<0.5,>=0.4`, `~2.1` as `<2.2,>=2.1`; what follows in the version follows the lower bound."""
    major, minor = int(found[2]), int(found[3] or 0)
    of_minor = found[3] is not None and (found[1] == "~" or major == 0)
    end = f"{major}.{minor + 1}" if of_minor else f"{major + 1}"
    return f"<{end},>={found[0].lstrip('^~ ')}"


def _table(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key, {})
        if not isinstance(data, dict):
            return {}
    return data


def _read(path: Path) -> str:
    try:
        return read_bytes(path, _MOST_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return ""
