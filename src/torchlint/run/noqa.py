"""`# noqa` comments: which findings a file asks not to hear of."""

from __future__ import annotations

import io
import re
import tokenize

from torchlint.catalogue import torchfix
from torchlint.files.source import Source
from torchlint.findings import Finding, Location

# A code, a prefix of codes, or a rule's name.
_CODE = r"(?:[A-Za-z]{1,4}[0-9]+|(?-i:[A-Z]{1,4}(?![A-Za-z]))|[a-z0-9]+(?:-[a-z0-9]+)+)"
_CODES = rf"(?P<codes>{_CODE}(?:(?:\s*,\s*|\s+){_CODE}(?![A-Za-z]))*)"
_LINE = re.compile(rf"#\s*noqa(?![\w-])(?P<colon>)(?:\s*:\s*{_CODES})?", re.IGNORECASE)
_FILE = re.compile(rf"#\s*(?:torchlint|flake8)\s*[:=]\s*noqa(?![\w-])(?P<colon>\s*:)?\s*{_CODES}?", re.IGNORECASE)

ALL = frozenset({""})
_OURS = re.compile(r"TL\d+")


class Noqa:
    """The `# noqa` comments of one file. As for flake8, one on any row of a statement holds for all its rows."""

    def __init__(self, source: Source):
        self._file: frozenset[str] = frozenset()
        self._rows: dict[int, frozenset[str]] = {}
        self._ends: dict[int, int] = {}
        self._written: list[tuple[int, str]] = []
        self._used: set[tuple[int, str]] = set()
        self._source = source
        if "noqa" in source.text.lower():
            self._read(source.text)

    def hides(self, finding: Finding) -> bool:
        """Whether the file asks not to hear of a finding that stands in it."""
        if not (self._file or self._rows):
            return False
        row = self._source.row_of(finding.location)
        end = self._ends.get(row, row)
        hidden = False
        for word in self._rows.get(row, frozenset()):
            if names(word, finding):
                self._used.add((end, word))
                hidden = True
        return hidden or any(names(word, finding) for word in self._file)

    def unused(self) -> list[tuple[Location, str]]:
        """The codes of ours in comments on rows that have hidden nothing of what `hides` was asked: where, and which."""
        found = []
        for row, word in self._written:
            if _OURS.fullmatch(word) and (self._ends.get(row, row), word) not in self._used:
                found.append((self._source.place(Location(self._source.filename, row)), word))
        return found

    def _read(self, text: str) -> None:
        first, asked, code_before = 0, frozenset(), -1
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    if code_before != token.start[0]:
                        self._file |= _words(_FILE.match(token.string))
                    words = _words(_LINE.search(token.string))
                    self._written += ((token.start[0], word) for word in sorted(words))
                    asked |= words
                if token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER):
                    if token.type == tokenize.NL and first:
                        continue
                    if asked:
                        for row in range(first or token.start[0], token.end[0] + 1):
                            self._rows[row] = asked
                            self._ends[row] = token.end[0]
                    first, asked = 0, frozenset()
                elif token.type not in (tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
                    first = first or token.start[0]
                    code_before = token.end[0]
        except (tokenize.TokenError, SyntaxError):
            pass  # what was read so far holds


def names(word: str, finding: Finding) -> bool:
    """Whether a word of a comment, in capitals, means a finding: a prefix of its code, its rule's name, TorchFix's code."""
    if word.startswith("TOR"):
        return finding.number in (torchfix.rules_of(word) or ())
    code = finding.code.upper()
    # What a run saw (TS101) is the same pitfall.
    return code.startswith(word) or f"TL{code[2:]}".startswith(word) or finding.name.upper() == word


def _words(match: re.Match[str] | None) -> frozenset[str]:
    """What a comment hides: prefixes of codes or names in capitals; "" hides everything."""
    if match is None:
        return frozenset()
    if match["codes"]:
        return frozenset(re.split(r"[\s,]+", match["codes"].upper()))
    # A whole file falls silent only for a comment that plainly says so.
    return frozenset() if match["colon"] else ALL
