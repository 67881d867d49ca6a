"""Patterns of file names as .gitignore has them, from files that anybody may have written.

Matched here and not by a library: those make regular expressions of them, which try in vain for hours where stars are many,
and read some otherwise than git. Here no star is gone back to, so a pattern takes its length times that of the name at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

_SPECIAL = frozenset("*?[\\")
# Git's classes know ASCII only.
_LOWER, _UPPER, _DIGIT = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_CLASSES = {
    "alnum": _LOWER + _UPPER + _DIGIT, "alpha": _LOWER + _UPPER, "blank": " \t", "digit": _DIGIT, "lower": _LOWER,
    "cntrl": "".join(map(chr, range(32))) + "\x7f", "graph": _LOWER + _UPPER + _DIGIT + _PUNCTUATION, "punct": _PUNCTUATION,
    "print": _LOWER + _UPPER + _DIGIT + _PUNCTUATION + " ", "space": " \t\n\r", "upper": _UPPER,
    "xdigit": _DIGIT + "abcdefABCDEF",
}
_END = "\0"  # no name holds it
_ANY = frozenset(map(chr, range(256)))

# One character of a name: those that may stand there.
Place = frozenset[str]


class _NoMatch(ValueError):
    """A pattern that git lets match nothing: it ends within brackets, or in a backslash."""


class Name:
    """What one name, without slashes, has to be: stretches of a known length, and stars between them.

    Args:
        stretches: the places of each.
    """

    def __init__(self, stretches: Sequence[Sequence[Place]]):
        self.first, *self.middle = map(_plain, stretches)
        self.last = self.middle.pop() if self.middle else None
        self.length = sum(map(len, stretches))

    def match(self, name: str) -> bool:
        """Whether a name is one. Each stretch is taken where it comes first: what follows has the most room then."""
        if self.last is None:
            return len(name) == self.length and _stands(self.first, name, 0)
        end = len(name) - len(self.last)
        if len(name) < self.length or not (_stands(self.first, name, 0) and _stands(self.last, name, end)):
            return False
        at = len(self.first)
        for stretch in self.middle:
            at = _find(stretch, name, at, end)
            if at < 0:
                return False
            at += len(stretch)
        return True


class Path:
    """What a path has to be from some point on: names, and ** between them, which stand for any number of folders.

    Args:
        blocks: the names before the first **, and after each.
        least: how many folders each ** stands for at least.
    """

    def __init__(self, blocks: Sequence[Sequence[Name]], least: Sequence[int]):
        self.first, *self.rest = blocks
        self.least = least

    def match(self, path: str) -> bool:
        """Whether a path is one. As with names, each block is taken where it comes first."""
        names = path.split("/")
        if not self.rest:
            return len(names) == len(self.first) and _follow(self.first, names, 0)
        if not _follow(self.first, names, 0):
            return False
        at = len(self.first)
        for block, least in zip(self.rest[:-1], self.least):
            at += least
            while not _follow(block, names, at):
                at += 1
                if at > len(names):
                    return False
            at += len(block)
        at += self.least[-1]
        last = self.rest[-1]
        if not last:  # at the end, ** is what is in a folder, not the folder
            return at < len(names)
        return at <= len(names) - len(last) and _follow(last, names, len(names) - len(last))


class Patterns:
    """Patterns of which the last one that matches counts.

    Args:
        lines: the patterns, as git reads them from a line; what matches nothing is passed over.
    """

    def __init__(self, lines: Iterable[str]):
        self._takes_back: list[bool] = []
        # Each for files and for folders: numbers of patterns by the whole name or path, others last one first.
        self._names: tuple[dict[str, int], ...] = ({}, {})
        self._paths: tuple[dict[str, int], ...] = ({}, {})
        self._ends: tuple[list[tuple[int, str]], ...] = ([], [])
        self._others: tuple[list[tuple[int, str | None, Name | Path]], ...] = ([], [])
        for line in lines:
            self._add(_bytewise(line))
        for found in (*self._ends, *self._others):
            found.reverse()
        self._all_ends = tuple(tuple(end for _, end in found) for found in self._ends)
        self._folders: dict[str, bool | None] = {}

    def __bool__(self) -> bool:
        return bool(self._takes_back)

    def of(self, path: str, is_folder: bool) -> bool | None:
        """Whether a path is left out; None where no pattern says anything of it. Folders that it is in are not looked at.

        Args:
            path: as seen from the patterns' folder, with / between its parts.
            is_folder: whether it is one.
        """
        path = _bytewise(path)
        name = path[path.rfind("/") + 1:]
        best = max(self._names[is_folder].get(name, -1), self._paths[is_folder].get(path, -1))
        if name.endswith(self._all_ends[is_folder]):
            best = max(best, next(number for number, end in self._ends[is_folder] if name.endswith(end)))
        for number, start, wanted in self._others[is_folder]:
            if number <= best:
                break
            if wanted.match(name) if start is None else path.startswith(start) and wanted.match(path[len(start):]):
                best = number
                break
        return None if best < 0 else not self._takes_back[best]

    def cover(self, path: str, is_folder: bool) -> bool | None:
        """The same, as git has it: with a folder, all that is in it is left out, and nothing takes it back."""
        end = path.find("/")
        while end >= 0:
            above = path[:end]
            if above not in self._folders:
                self._folders[above] = self.of(above, True)
            if self._folders[above]:
                return True
            end = path.find("/", end + 1)
        return self.of(path, is_folder)

    def _add(self, line: str) -> None:
        text, takes_back, only_folders = _parts(line)
        if not text:
            return
        number = len(self._takes_back)
        kinds = (True,) if only_folders else (False, True)
        literal = next((at for at, letter in enumerate(text) if letter in _SPECIAL), len(text))
        if "/" not in text:
            if literal == len(text):
                for kind in kinds:
                    self._names[kind][text] = number
            elif text[0] == "*" and _SPECIAL.isdisjoint(text[1:]):
                for kind in kinds:
                    self._ends[kind].append((number, text[1:]))
            else:
                try:
                    name = _name_of(token for token in _tokens(text) if not isinstance(token, str))
                except _NoMatch:
                    return
                for kind in kinds:
                    self._others[kind].append((number, None, name))
        elif literal == len(text):
            for kind in kinds:
                self._paths[kind][text.removeprefix("/")] = number
        else:
            try:
                path = _path_of(text[literal:])
            except _NoMatch:
                return
            for kind in kinds:
                self._others[kind].append((number, text[:literal].removeprefix("/"), path))
        self._takes_back.append(takes_back)


def usable(pattern: str) -> bool:
    """Whether a pattern can match anything; comments and empty lines need not."""
    return not pattern.strip(" ") or pattern[0] == "#" or _END not in pattern and bool(Patterns([pattern]))


def of_file(data: bytes) -> Patterns:
    """The patterns in a file of this content."""
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")
    return Patterns(line.removesuffix("\r").partition(_END)[0] for line in lines)


def _bytewise(text: str) -> str:
    """A text with a character for each byte: for git, a ? is one byte."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _parts(line: str) -> tuple[str, bool, bool]:
    """What a line of an ignore file says: a pattern, perhaps an empty one, whether it takes back, whether only folders match."""
    if line[:1] == "#":
        return "", False, False
    text = line.rstrip(" ")
    if text != line and (len(text) - len(text.rstrip("\\"))) % 2:
        text += " "  # the first of the spaces was meant
    takes_back = text[:1] == "!"
    text = text[takes_back:]
    only_folders = text[-1:] == "/"
    text = text[:len(text) - only_folders]
    return text if text.strip("/") else "", takes_back, only_folders


def _path_of(text: str) -> Path:
    """A pattern of paths.

    Raises:
        _NoMatch: nothing matches it.
    """
    blocks: list[list[Name]] = [[]]
    least: list[int] = []
    tokens: list[int | Place] = []
    for token in [*_tokens(text), "/"]:
        if not isinstance(token, str):
            tokens.append(token)
            continue
        if len(tokens) == 1 and isinstance(tokens[0], int) and tokens[0] > 1:
            least.append(int(token == _ESCAPED))
            blocks.append([])
        else:
            blocks[-1].append(_name_of(tokens))
        tokens = []
    return Path(blocks, least)


def _name_of(tokens: Iterable[int | Place]) -> Name:
    stretches: list[list[Place]] = [[]]
    for token in tokens:
        if isinstance(token, int):
            stretches.append([])
        else:
            stretches[-1].append(token)
    return Name(stretches)


_ESCAPED = "\\/"


def _tokens(text: str) -> Iterator[int | str | Place]:
    """A pattern in parts: how many stars, a slash, or what one character may be.

    Raises:
        _NoMatch: it ends too early.
    """
    at = 0
    text += _END
    while text[at] != _END:
        letter = text[at]
        if letter == "*":
            start = at
            while text[at] == "*":
                at += 1
            yield at - start
            continue
        if letter == "[":
            place, at = _bracket(text, at + 1)
            yield place
        elif letter == "\\":
            at += 1
            if text[at] == _END:
                raise _NoMatch(text)
            yield _ESCAPED if text[at] == "/" else frozenset(text[at])
        else:
            yield "/" if letter == "/" else _ANY if letter == "?" else frozenset(letter)
        at += 1


def _bracket(text: str, at: int) -> tuple[Place, int]:
    """What a bracket that begins before `at` lets stand in its place, and where it ends.

    Raises:
        _NoMatch: it does not end, names a class that is none, or lets nothing stand there.
    """
    found: set[str] = set()
    negated = text[at] in "!^"
    at += negated
    first, before = at, ""  # `before` is what a range would begin with
    close = -1  # the next ], looked for once
    while at == first or text[at] != "]":
        if text[at] == "-" and before and text[at + 1] not in ("]", _END):
            at += 1 + (text[at + 1] == "\\")
            found.update(map(chr, range(ord(before), ord(text[at]) + 1)))
            before = ""
        elif text[at] == "[" and text[at + 1] == ":":
            if close < at + 2:
                close = text.find("]", at + 2)
            if close < 0:
                raise _NoMatch(text)
            if close > at + 2 and text[close - 1] == ":":
                if text[at + 2: close - 1] not in _CLASSES:
                    raise _NoMatch(text)
                found.update(_CLASSES[text[at + 2: close - 1]])
                at, before = close, ""
            else:
                before = "["
                found.add(before)
        else:
            at += text[at] == "\\"
            before = text[at]
            found.add(before)
        if text[at] == _END:
            raise _NoMatch(text)
        at += 1
    place = _ANY - found if negated else frozenset(found)
    if not place:
        raise _NoMatch(text)
    return place, at


def _plain(stretch: Sequence[Place]) -> str | tuple[Place, ...]:
    """A stretch as text where only one can stand there, which is found faster."""
    return "".join(letter for (letter,) in stretch) if all(len(place) == 1 for place in stretch) else tuple(stretch)


def _stands(stretch: str | tuple[Place, ...], name: str, at: int) -> bool:
    if isinstance(stretch, str):
        return name.startswith(stretch, at)
    return all(letter in place for letter, place in zip(name[at: at + len(stretch)], stretch))


def _find(stretch: str | tuple[Place, ...], name: str, start: int, end: int) -> int:
    """Where a stretch is first found in a part of a name; -1 where it is not."""
    if isinstance(stretch, str):
        return name.find(stretch, start, end)
    return next((at for at in range(start, end - len(stretch) + 1) if _stands(stretch, name, at)), -1)


def _follow(block: Sequence[Name], names: Sequence[str], at: int) -> bool:
    """Whether names from some place on are those of a block."""
    return at + len(block) <= len(names) and all(wanted.match(name) for wanted, name in zip(block, names[at: at + len(block)]))
