"""Reads the rule pages: one Markdown file per pitfall, TOML front matter for machines, the rest for people."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from torchlint.addresses import rule_page
from torchlint.files.reading import read_bytes
from torchlint.findings import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GROUPS = {
    "correctness": Severity.ERROR,
    "suspicious": Severity.WARNING,
    "performance": Severity.WARNING,
    "opt-in": Severity.NOTE,
}
# The folder of a pitfall, in rules/, torchlint/rules/ and torchsan/checks/, by the first digit of its number.
AREAS = {
    0: "finetuning",
    1: "gradients", 2: "modes", 3: "losses", 4: "tensors", 5: "modules", 6: "data", 7: "amp", 8: "distributed", 9: "saving",
}
JUDGES = ("", "custom", "none")
DEFAULT_GROUPS = ("correctness", "suspicious")
FORMS = ("order", "trait", "call")
COMPILED = "pages.msgpack"  # all pages of a built package in one file

_BLOCK = re.compile(r"^```python[ \t]*(?P<info>[^\n]*)\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"#\s*<-\s*(\d{3}(?:\s*,\s*\d{3})*)\s*$")
NAME = re.compile(r"[a-z0-9]{1,60}(?:-[a-z0-9]{1,60}){0,20}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # could take over the terminal of who reads the page
_LIMIT = re.compile(r"[<>]=?\d{1,3}\.\d{1,3}")
_ROLE = re.compile(r"\{([^{}]*)\}")
_MOST_BYTES = 1_000_000
_KEYS = ("code", "name", "summary", "group", "since", "message", "help", "lint", "live", "tests", "torch", *FORMS)


class PageError(ValueError):
    """A rule page that cannot be used; the text names the page and, where known, the line."""


class Example(msgspec.Struct, frozen=True):
    """A ```python block of a page. `flags` are the words after `python`: bad or good, run, ranks, file=name.py."""

    code: str
    flags: tuple[str, ...]
    line: int  # of the text, from 1

    def marks(self) -> Counter[tuple[int, int]]:
        """How often each (row, number) is announced by a mark, `# <- 101` or `# <- 101, 203` at the end of a row.

        Raises:
            PageError: something looks like a mark and is none.
        """
        marks: Counter[tuple[int, int]] = Counter()
        for row, line in enumerate(self.code.splitlines(), 1):
            if match := _MARK.search(line):
                marks.update((row, int(number)) for number in match[1].split(","))
            elif "#" in line and "<-" in line.rpartition("#")[2]:
                raise PageError(f"row {row} of the block: a mark that cannot be read")
        return marks

    @property
    def bad(self) -> bool:
        return "bad" in self.flags

    @property
    def good(self) -> bool:
        return "good" in self.flags

    @property
    def runs(self) -> bool:
        return "run" in self.flags

    @property
    def on_ranks(self) -> bool:
        """Whether it is run by two processes, as torchrun starts them."""
        return "ranks" in self.flags


class Rule(msgspec.Struct, frozen=True):
    """One pitfall as its page tells it."""

    code: int
    name: str
    summary: str
    group: str
    since: str
    message: str
    help: str
    lint: str
    live: str
    torch: str
    forms: dict[str, tuple[dict[str, Any], ...]]
    text: str
    path: str
    tests: str = ""  # "silent": what tests do is judged by it only where that is asked for

    @property
    def severity(self) -> Severity:
        return GROUPS[self.group]

    @property
    def url(self) -> str:
        """The address of its page; "" while the project has no site."""
        return rule_page(self.code, self.name)

    def examples(self) -> Iterator[Example]:
        """The page's Python blocks in order."""
        for match in _BLOCK.finditer(self.text):
            yield Example(match["code"], tuple(match["info"].split()), self.text.count("\n", 0, match.start()) + 1)


def read_page(path: Path) -> Rule:
    """The rule on one page.

    Raises:
        PageError: front matter missing or malformed, a key unknown or of the wrong type.
        OSError: it cannot be read, or is no file.
        UnicodeDecodeError: it is not UTF-8.
    """
    text = read_bytes(path, _MOST_BYTES).decode("utf-8").replace("\r\n", "\n")
    if not text.startswith("+++\n") or "\n+++\n" not in text:
        raise PageError(f"{path}: no front matter between two lines of +++")
    front, body = text[4:].split("\n+++\n", 1)
    try:
        data = tomllib.loads(front)
    except RecursionError:
        raise PageError(f"{path}: front matter: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise PageError(f"{path}: front matter: {error}") from None
    for key in sorted(data.keys() - set(_KEYS)):
        raise PageError(f"{path}: unknown key {key!r} in the front matter; there are {', '.join(_KEYS)}")
    for key in ("code", "name", "summary", "group"):
        if key not in data:
            raise PageError(f"{path}: no {key!r} in the front matter")
    if not isinstance(data["group"], str) or data["group"] not in GROUPS:
        raise PageError(f"{path}: group {str(data['group'])[:60]!r} is none of {', '.join(GROUPS)}")
    if not NAME.fullmatch(str(data["name"])):
        raise PageError(f"{path}: front matter: name = {str(data['name'])[:60]!r}: a name is made of small letters, digits and hyphens")
    if data.get("tests", "silent") != "silent":
        raise PageError(f'{path}: front matter: tests = "silent", or nothing')
    if not isinstance(data["code"], int) or not 1 <= data["code"] <= 999:
        raise PageError(f"{path}: front matter: a code is a number from 1 to 999")
    if any(_CONTROL.search(str(value)) for value in (body, *data.values())):
        raise PageError(f"{path}: holds control characters")
    for key, known in (("lint", JUDGES), ("live", JUDGES)):
        if data.get(key, "") not in known:
            raise PageError(f"{path}: front matter: {key} is {str(data[key])[:60]!r}; it is 'custom', 'none' or left out")
    if data.get("torch") is not None and not _LIMIT.fullmatch(str(data["torch"])):
        raise PageError(f"{path}: front matter: torch is {str(data['torch'])[:60]!r}; it is a bound such as '<2.6'")
    fields = {key: data.get(key, "") for key in ("since", "message", "help", "lint", "live", "tests", "torch")}
    from torchlint.catalogue.forms import ROLES, FormError, nearest  # a built package has pages that were checked
    from torchlint.catalogue.forms import check as check_form

    forms = {}
    for form in FORMS:
        if form in data:
            try:
                check_form(form, data[form])
            except FormError as error:
                raise PageError(f"{path}:{_row_of(front, form, error.table)}: front matter: {form}: {error}") from None
            forms[form] = tuple(data[form])
    if forms and fields["lint"] != "custom":
        for key in ("message", "help"):
            for word in _ROLE.findall(str(fields[key])):
                if word not in ROLES:
                    raise PageError(
                        f"{path}: front matter: {key}: nothing fills {{{word[:60]}}}{nearest(word, ROLES)}; "
                        f"there are {', '.join(f'{{{role}}}' for role in ROLES)}"
                    )
    try:
        return msgspec.convert(
            {**{k: data[k] for k in ("code", "name", "summary", "group")}, **fields, "forms": forms, "text": body,
             "path": str(path)},
            Rule,
        )
    except msgspec.ValidationError as error:
        raise PageError(f"{path}: front matter: {error}") from None


def _row_of(front: str, form: str, table: int | None) -> int:
    """The row of a page on which a table of a form begins."""
    rows = [row for row, line in enumerate(front.split("\n"), 2) if line.strip().startswith(f"[[{form}]]")]
    return rows[table] if table is not None and table < len(rows) else 1


class Catalogue:
    """All rules, found by number or name."""

    def __init__(self, rules: Iterable[Rule]):
        self.rules: dict[int, Rule] = {}
        for rule in sorted(rules, key=lambda rule: rule.code):
            if rule.code in self.rules:
                raise PageError(f"{rule.path}: code {rule.code} is taken by {self.rules[rule.code].path}")
            self.rules[rule.code] = rule
        self._by_name = {rule.name: rule for rule in self.rules.values()}

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules.values())

    def __len__(self) -> int:
        return len(self.rules)

    def find(self, key: str | int) -> Rule | None:
        """The rule called `key`: 101, "101", "TL101", "TS101" or "missing-zero-grad"."""
        text = f"{key:03d}" if isinstance(key, int) else key.strip()
        number = re.fullmatch(r"(?:TL|TS)?(\d{3})", text, re.IGNORECASE)
        return self.rules.get(int(number[1])) if number else self._by_name.get(text.lower())


def pages_folder() -> Path:
    """Where the shipped pages lie: inside the installed package, or at the top of the repository."""
    package = Path(__file__).parents[1]
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parents[1] / "rules"


def read_pages(folder: Path) -> list[Rule]:
    """The rules on all pages in a folder of groups.

    Raises: as `read_page`.
    """
    return [read_page(path) for path in sorted(folder.glob("*/*.md"))]


def compiled(folder: Path) -> bytes:
    """All pages in a folder of groups as one file, which a built package has beside them under the name `COMPILED`.

    Raises: as `read_page`.
    """
    return msgspec.msgpack.encode([
        msgspec.structs.replace(rule, path=Path(rule.path).relative_to(folder).as_posix()) for rule in read_pages(folder)
    ])


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """The shipped catalogue, read once."""
    folder = pages_folder()
    try:
        known = msgspec.msgpack.decode(read_bytes(folder / COMPILED), type=list[Rule])
    except (OSError, msgspec.MsgspecError):  # a working tree has none
        return Catalogue(read_pages(folder))
    return Catalogue(msgspec.structs.replace(rule, path=str(folder / rule.path)) for rule in known)
