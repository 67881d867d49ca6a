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
    """Whether a statement gives a name, or columns of it, data less their mean or minimum, through their spread: both of all rows. Or
    it is the second of two that do: `x = x - x.min(0)`, `x /= x.max(0)`."""
    node = site.node
    if isinstance(node, cst.AugAssign):
        return isinstance(node.operator, cst.DivideAssign) and _scaled_in_two(site, node.target, node.target, node.value)
    scaled = _stretched(node.value) if isinstance(node, cst.Assign) and len(node.targets) == 1 else None
    if not _computes(scaled, cst.Divide):
        return False
    centred, width = _stretched(scaled.left), scaled.right
    if not _computes(centred, cst.Subtract):
        return _scaled_in_two(site, node.targets[0].target, centred, width)
    data, rows = site.parsed.text(centred.left), rows_before(site)
    if _ALL_ROWS.fullmatch(data) is None or not _of_all_rows(site.parsed.text(centred.right), _asked(data, _CENTRES), rows):
        return False
    return _of_all_rows(site.parsed.text(width), _asked(data, _WIDTHS), rows)


def _stretched(node: cst.CSTNode) -> cst.CSTNode:
    """What numbers are added to and times: `x` of `2 * x - 1`."""
    while isinstance(node, cst.BinaryOperation):
        inner = (node.left, *((node.right,) if isinstance(node.operator, cst.Multiply) else ()))
        beside = {id(node.left): node.right, id(node.right): node.left}
        kept = [one for one in inner if isinstance(beside[id(one)], (cst.Integer, cst.Float))]
        if len(kept) != 1 or not isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply)):
            break
        node = kept[0]
    return node


def _scaled_in_two(site: Site, target: cst.CSTNode, scaled: cst.CSTNode, width: cst.CSTNode) -> bool:
    """Whether a statement divides what it gives by its spread, and the last one before it that gave that something took the mean or
    the minimum off."""
    data = site.parsed.text(target)
    if _ALL_ROWS.fullmatch(data) is None or site.parsed.text(scaled) != data:
        return False
    rows, here = rows_before(site), re.escape(data)
    last = next((at for at in reversed(range(len(rows))) if re.match(rf"\s*{here}\s*[-+*/]?=[^=]", rows[at])), None)
    centred = re.match(rf"\s*{here}\s*(?:=\s*{here}\s*-|-=)(?!=)(.*)", rows[last]) if last is not None else None
    if centred is None or not _of_all_rows(centred[1], _asked(data, _CENTRES), rows[:last]):
        return False
    return _of_all_rows(site.parsed.text(width), _asked(data, _WIDTHS), rows)


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
