"""What a file lets others have by which names: its statements at the margin, each with the names that it makes and the words in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from torchlint.files.project import IN_THREE_QUOTES

_WORD = re.compile(r"[^\W\d]\w*")
_MADE = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_DECORATOR = re.compile(r"^@[ \t]*([\w.]+)", re.MULTILINE)
_COMPOUND = re.compile(r"(?:if|elif|else|try|except|finally|with|for|while)\b")
_CALLS = re.compile(r"^[ \t]+[\w.]+(?:\(|\[[^]\n]*\][ \t]*=)", re.MULTILINE)
_TARGETS = re.compile(r"([^=!<>:\n]+?)(?::[^=\n]+)?(?:[+|-]|\*\*?|//?)?=(?!=)")
_TEXTS = re.compile(r"[rbuRBU]*[\"']")
_NO_NAMES = re.compile(r"(?:from|import|__all__)\b|if[ \t]+__name__[ \t]*==")  # what an import mentions is given on as it is
_GOES_ON = tuple(" \t\f)]}\r\n")
_STAR = re.compile(r"^[ \t]*from[ \t]+[.\w]+[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)
# Decorators that put what they decorate nowhere else.
_PLAIN = re.compile(
    r"(?:torch|functools|dataclasses|contextlib|abc|typing|enum|unittest|numba|tf)\.|(?:\w+\.)?(?:jit\.\w+|script|compile|no_grad|dataclass"
    r"|property|staticmethod|classmethod|contextmanager|lru_cache|cache|cached|wraps|overload|abstractmethod|total_ordering|final|njit|unique"
    r"|runtime_checkable|deprecated)$"
)


class Block(msgspec.Struct, frozen=True, array_like=True):
    """A statement at the margin: the names that it makes, the words in it, and whether it may put what it mentions anywhere,
    as `register(Net)`."""

    names: str
    words: str
    anywhere: bool


def outline_of(text: str) -> tuple[bool, tuple[Block, ...]]:
    """Whether a text takes all names of another file (`from x import *`), and its statements."""
    return _STAR.search(text) is not None, tuple(filter(None, map(_block, _statements(IN_THREE_QUOTES.sub('""', text)))))


def _statements(text: str) -> Iterator[str]:
    held: list[str] = []
    for line in text.splitlines():
        if held and line and not line.startswith((*_GOES_ON, "#")) and not _is_only_decorated(held):
            yield "\n".join(held)
            held.clear()
        if line and not line.startswith("#"):
            held.append(line)
    if held:
        yield "\n".join(held)


def _is_only_decorated(lines: Iterable[str]) -> bool:
    return all(line.startswith(("@", *_GOES_ON)) for line in lines)


def _block(statement: str) -> Block | None:
    if _TEXTS.match(statement):
        return None
    words = " ".join(sorted(set(_WORD.findall(statement))))
    decorators = _DECORATOR.findall(statement)
    made = _MADE.search(statement) if decorators else _MADE.match(statement)
    if made is not None:
        return Block(made[1], words, not all(map(_PLAIN.match, decorators)))
    if _NO_NAMES.match(statement):
        return Block("", words, False)
    if _COMPOUND.match(statement):
        return Block(words, words, _CALLS.search(statement) is not None)
    targets = _TARGETS.match(statement)
    if targets is None or {".", "[", "("} & set(targets[1]):
        return Block("", words, True)
    return Block(" ".join(_WORD.findall(targets[1])), words, False)


class Outline:
    """An outline, made ready for questions."""

    def __init__(self, module: str, star: bool, blocks: Iterable[Block]):
        self.star = star
        self._blocks = [(frozenset(block.names.split()), frozenset(block.words.split()), block.anywhere) for block in blocks]
        self.words = frozenset().union(*(words for _, words, _ in self._blocks))
        self._module = module

    def own(self) -> frozenset[str] | None:
        """The names by which others have what is in the file; None where these are not all."""
        made = frozenset().union(*(names for names, _, _ in self._blocks), {self._module})
        return self.gives(made)

    def gives(self, taken: frozenset[str]) -> frozenset[str] | None:
        """The names by which others have what the file has by `taken`: these, and what is made of them. None where it may be put
        anywhere."""
        given, left = taken, list(self._blocks)
        while True:
            with_it = [block for block in left if not given.isdisjoint(block[1])]
            if not with_it:
                return given
            if any(anywhere for _, _, anywhere in with_it):
                return None
            left = [block for block in left if given.isdisjoint(block[1])]
            given = given.union(*(names for names, _, _ in with_it))
