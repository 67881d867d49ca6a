"""Links of the repository's pages, as they must be on the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

_LINK = re.compile(r"(?P<head>!?\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\])\((?P<to>[^()\s]+)\)")
_FENCED = re.compile(r"(^ *(```+).*?^ *\2 *$|`[^`\n]+`)", re.S | re.M)


class BrokenLink(ValueError):
    """A page links to a file that is not there."""


class Links:
    """Where the files of the repository are on the site: `homes` by their path, both from the top."""

    def __init__(self, root: Path, homes: Mapping[str, str], repository: str):
        self._root, self._homes, self._repository = root, homes, repository

    def moved(self, text: str, source: str, target: str) -> str:
        """A page's text with its links as they are right at `target`; code stays as it is.

        Raises:
            BrokenLink: a link leads to no file.
        """
        # Of each three parts the first is text, the second code, the third the mark that the code stands between.
        parts = _FENCED.split(text)
        parts[::3] = [_LINK.sub(lambda match: self._link(match, source, target), part) for part in parts[::3]]
        del parts[2::3]
        return "".join(parts)

    def _link(self, match: re.Match[str], source: str, target: str) -> str:
        to, hash_, place = match["to"].partition("#")
        if "://" in to or not to:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), to))
        if not (self._root / path).exists():
            raise BrokenLink(f"{source}: {match['to']} leads to no file")
        home = self._homes.get(path) or (path.removeprefix("docs/") if path.startswith("docs/pictures/") else None)
        if home is not None:
            return f"{match['head']}({posixpath.relpath(home, posixpath.dirname(target) or '.')}{hash_}{place})"
        return f"{match['head']}({self._repository}/blob/main/{path})" if self._repository else match["text"]
