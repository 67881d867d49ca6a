"""`# noqa` comments: which findings a file asks not to hear of."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Sequence

from torchlint.catalogue import torchfix
from torchlint.files.source import Source
from torchlint.findings import Edit, Finding, Fix, Location, Severity

# A code, a prefix of codes, or a rule's name.
_CODE = r"(?:[A-Za-z]{1,4}[0-9]+|(?-i:[A-Z]{1,4}(?![A-Za-z]))|[a-z0-9]+(?:-[a-z0-9]+)+)"
_CODES = rf"(?P<codes>{_CODE}(?:(?:\s*,\s*|\s+){_CODE}(?![A-Za-z]))*)"
_LINE = re.compile(rf"#\s*noqa(?![\w-])(?P<colon>)(?:\s*:\s*{_CODES})?", re.IGNORECASE)
_FILE = re.compile(rf"#\s*(?:torchlint|flake8)\s*[:=]\s*noqa(?![\w-])(?P<colon>\s*:)?\s*{_CODES}?", re.IGNORECASE)

ALL = frozenset({""})
_OURS = re.compile(r"TL\d+")


class Unused:
    """A comment with codes that hide nothing.

    Args:
        source: the file.
        token: the comment.
        words: the codes.
    """

    def __init__(self, source: Source, token: tokenize.TokenInfo, words: tuple[str, ...]):
        self.words = words
        self._source = source
        self._token = token

    def edit(self, words: Collection[str]) -> Edit:
        """What takes some of its codes out: the whole comment, where it says nothing else."""
        text, (row, column) = self._token.string, self._token.start
        match = _LINE.search(text)
        left = [word for word in re.split(r"[\s,]+", match["codes"]) if word.upper() not in words]
        if left:
            new = text[: match.start("codes")] + ", ".join(left) + text[match.end("codes"):]
        else:
            before, after = text[: match.start()].rstrip("# \t"), text[match.end():].lstrip("# \t")
            rest = "  # ".join(part for part in (before.lstrip("# \t"), after) if part)
            new = f"# {rest}" if rest else ""
        line = self._source.text.split("\n")[row - 1]  # the token's own may hold several
        start = column if new else len(line[:column].rstrip())
        at = Location(self._source.filename, row, start + 1, row, column + len(text) + 1)
        return Edit(self._source.place(at), new, line[start:column] + text)

    @property
    def location(self) -> Location:
        """Where it stands."""
        (row, column), end = self._token.start, self._token.end[1]
        return self._source.place(Location(self._source.filename, row, column + 1, row, end + 1))


class Noqa:
    """The `# noqa` comments of one file. As for flake8, one on any row of a statement holds for all its rows."""

    def __init__(self, source: Source):
        self._file: frozenset[str] = frozenset()
        self._rows: dict[int, frozenset[str]] = {}
        self._ends: dict[int, int] = {}
        self._written: list[tuple[tokenize.TokenInfo, list[str]]] = []
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

    def unused(self) -> list[Unused]:
        """The comments with codes of ours that have hidden nothing of what `hides` was asked."""
        found = []
        for token, words in self._written:
            row = token.start[0]
            end = self._ends.get(row, row)
            idle = tuple(word for word in words if _OURS.fullmatch(word) and (end, word) not in self._used)
            if idle:
                found.append(Unused(self._source, token, idle))
        return found

    def _read(self, text: str) -> None:
        first, asked, code_before = 0, frozenset(), -1
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    if code_before != token.start[0]:
                        self._file |= _words(_FILE.match(token.string))
                    words = _words(_LINE.search(token.string))
                    if words - ALL:
                        self._written.append((token, sorted(words)))
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


def unused_noqa(comment: Unused, words: Sequence[str]) -> Finding:
    """The finding of a comment with codes that hide nothing."""
    fix = Fix("safe", "take it out", (comment.edit(words),))
    return Finding(
        "TL000", "unused-noqa", f"`# noqa: {', '.join(words)}` hides nothing", comment.location, "opt-in", Severity.NOTE,
        "take it out: what it was for is mended, or stands elsewhere", fix=fix,
    )
