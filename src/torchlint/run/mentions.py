"""What a file says of others: the names that it imports, and the attributes that may be modules; taken from its text, and kept
for as long as the file is not written to."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Optional

import msgspec

from torchlint.files.modules import OUTSIDE
from torchlint.files.search_path import added_folders
from torchlint.files.tests import runs_tests
from torchlint.run.outline import Block, outline_of

# Wherever a statement can begin. What stands in comments and texts is taken for one, too: a file too many does no harm.
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t\f]*(?:from\b[ \t]*([.\w]+|[. \t]+?)[ \t]*\bimport\b[ \t]*(\((?:[^()#]|#[^\n]*)*\)?|[^\n#;]+)"
    r"|import[ \t]+([^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[.\w]+")
_ATTRIBUTE = re.compile(r"(?<=\w)(?<!\bself)\.([^\W\d]\w*)\b(?!\()")
_JUST_NOW = 2_000_000_000  # nanoseconds: what was written so lately may be written again, and look the same

State = Optional[tuple[int, int, int, int]]


class Mentions(msgspec.Struct, frozen=True, array_like=True):
    """The names that a file may import, the folders that it puts on the import path, the attributes that it takes of names, whether
    it has what pytest would run, whether it takes all names of another file, and its statements."""

    names: tuple[str, ...]
    added: tuple[str, ...]
    attributes: tuple[str, ...]
    runs_tests: bool
    star: bool
    blocks: tuple[Block, ...]


def mentions_of(text: str) -> Mentions:
    """What a text mentions."""
    names = {name for name in _names(text) if name.partition(".")[0] not in OUTSIDE}
    inside = any(_NAME.match(name) for name in names)
    attributes = tuple(sorted(set(_ATTRIBUTE.findall(text)))) if inside else ()
    return Mentions(tuple(sorted(names)), added_folders(text.lstrip("\ufeff")), attributes, runs_tests(text), *outline_of(text))


def _names(text: str) -> Iterator[str]:
    for module, names, plain in _IMPORT.findall(text.replace("\\\r\n", " ").replace("\\\n", " ")):
        if plain:
            for part in plain.split(","):
                name = _NAME.match(part.strip())
                parts = name[0].split(".") if name else []
                yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
        else:
            module = "".join(module.split())
            inside = module if module.endswith(".") else module + "."
            yield module
            yield from (inside + name for name in _NAME.findall(names))


def state_of(path: str) -> State:
    """What is otherwise once a file was written to; None where that cannot be told, as it was written to just now."""
    try:
        info = os.stat(path)
    except OSError:
        return None
    if max(info.st_mtime_ns, info.st_ctime_ns) > time.time_ns() - _JUST_NOW:
        return None
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino
