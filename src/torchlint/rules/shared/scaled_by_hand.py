"""Data that a program scales itself by what it computes of all their rows: `x = (x - x.mean(0)) / x.std(0)`."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.rules.shared.split_by_hand import rows_before

_CENTRES = "mean|nanmean|median|nanmedian|min|amin|nanmin"
_WIDTHS = "std|nanstd|var|nanvar|max|amax|nanmax|ptp"
_ALL_ROWS = re.compile(r"[A-Za-z_]\w*(?:\.values|(?:\.i?loc)?\[:, ?[^\]]*\]|\[(?:'[^']*'|\"[^\"]*\")\])?")  # a name, or columns of it
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w(.\[])")


def scaled_by_hand(site: Site) -> bool:
    """Whether a statement gives a name, or columns of it, data less their mean or minimum, through their spread: both of all rows."""
    node = site.node
    scaled = node.value if isinstance(node, cst.Assign) and len(node.targets) == 1 else None
    if not _computes(scaled, cst.Divide) or not _computes(scaled.left, cst.Subtract):
        return False
    data = site.parsed.text(scaled.left.left)
    if _ALL_ROWS.fullmatch(data) is None:
        return False
    centre, width, rows = site.parsed.text(scaled.left.right), site.parsed.text(scaled.right), rows_before(site)
    return _of_all_rows(centre, _asked(data, _CENTRES), rows) and _of_all_rows(width, _asked(data, _WIDTHS), rows)


_READS = re.compile(r"(?!.*\)\s*\[)(?:np|numpy|pd|pandas|torch)\.(?:load|loadtxt|genfromtxt|read_\w+)\(.*\)(?:\.(?:values|to_numpy\(\)|float\(\)|astype\(\w+\)))*\s*(?:#.*)?$")


def read_from_a_file(site: Site, name: str) -> bool:
    """Whether a name stands for all that was read of a file, when a statement asks for it: the first that it was given, and all others
    only change its numbers (`x /= 255`)."""
    given = [found[1] for row in rows_before(site) if (found := re.match(rf"\s*(?:\w+\s*,\s*)?{name}\s*(?:,\s*\w+\s*)?=\s*([^=\s].*)", row)) is not None]
    return len(given) == 1 and _READS.match(given[0]) is not None


def _computes(node: cst.CSTNode | None, operator: type) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, operator)


def _of_all_rows(text: str, asked: re.Pattern[str], rows: list[str]) -> bool:
    """Whether what a text computes with was asked of all rows, there or where its names were last given something."""
    found = list(asked.finditer(text)) or [one for name in _NAME.findall(text) for one in asked.finditer(_last_given(name, rows))]
    return bool(found) and all(map(_over_rows, found))


def _last_given(name: str, rows: list[str]) -> str:
    given = re.compile(rf"\s*(?:\w+\s*,\s*)?{name}\s*(?:,\s*\w+\s*)?=\s*([^=\s].*)")
    return next((found[1] for row in reversed(rows) if (found := given.match(row)) is not None), "")


def _asked(data: str, statistics: str) -> re.Pattern[str]:
    here, more = re.escape(data), r"(?:[^()]|\([^()]*\))*"
    return re.compile(
        rf"(?<![\w.]){here}\.(?:{statistics})\((?P<of>{more})\)|(?:np|numpy|torch)\.(?:{statistics})\({here}\s*(?:,(?P<behind>{more}))?\)"
    )


def _over_rows(found: re.Match[str]) -> bool:
    """Whether a statistic is taken over the first axis, or over all."""
    given = (found["of"] or found["behind"] or "").strip()
    axis = re.search(r"(?:axis|dim)\s*=\s*(\([^()]*\)|[^,]*)", given) or re.match(r"(\([^()]*\)|-?\w+)\s*(?:,|$)", given)
    return axis is None or re.search(r"(?<![\w-])(?:0|None)(?!\w)", axis[1]) is not None
