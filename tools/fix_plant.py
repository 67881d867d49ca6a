"""Plants mistakes in programs that have none, for `fix_loop.py --execute --plant`: the reverse of what safe fixes do.

A planted program still works and prints what it printed, more slowly; that mending it changes nothing of that is what is tried.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

# In-place initialisers and clipping have had names without the underscore, which still work.
_OLD_NAMES = re.compile(
    r"\b((?:nn\.)?init)\.(uniform|normal|constant|xavier_uniform|xavier_normal|kaiming_uniform|kaiming_normal|orthogonal)_\("
    r"|\b((?:nn\.)?utils)\.(clip_grad_norm)_\("
)


def plant(folder: Path) -> int:
    """Plants what can be planted in the files of a folder; says how many mistakes that were."""
    count = 0
    for path in sorted(folder.rglob("*.py")):
        try:
            text = path.read_text(encoding="utf-8")
            ast.parse(text)
        except (UnicodeDecodeError, SyntaxError, ValueError):
            continue
        planted, some = planted_in(text)
        if some:
            path.write_text(planted, encoding="utf-8")
            count += some
    return count


def planted_in(text: str) -> tuple[str, int]:
    """A text with mistakes, and how many: `no_grad` left out, sums that keep graphs, old names, tensors without their device."""
    count = 0
    for one in (_without_no_grad, _sum_with_graph, _without_device):
        while (changed := one(text)) is not None:
            text, count = changed, count + 1
    text, more = _OLD_NAMES.subn(lambda m: f"{m[1]}.{m[2]}(" if m[1] else f"{m[3]}.{m[4]}(", text)
    return text, count + more


def _without_no_grad(text: str) -> str | None:
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.With) and [ast.unparse(item.context_expr) for item in node.items] == ["torch.no_grad()"]:
            first, last = node.body[0].lineno, node.end_lineno or node.lineno
            if first == node.lineno or any("'''" in line or '"""' in line for line in lines[first - 1 : last]):
                continue
            by = node.body[0].col_offset - node.col_offset
            body = [line[by:] if line[:by].isspace() else line for line in lines[node.lineno : last]]
            return "\n".join([*lines[: node.lineno - 1], *body, *lines[last:]])
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if ast.unparse(decorator) == "torch.no_grad()":
                    return "\n".join([*lines[: decorator.lineno - 1], *lines[decorator.lineno :]])
    return None


def _sum_with_graph(text: str) -> str | None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.value, ast.Call):
            call = node.value.func
            if isinstance(call, ast.Attribute) and call.attr == "item" and "loss" in ast.unparse(call.value):
                return _cut(text, call.value, node.value)
    return None


def _without_device(text: str) -> str | None:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("torch.arange", "torch.zeros", "torch.ones"):
            given = node.keywords[-1] if node.keywords else None
            if given is not None and given.arg == "device" and ast.unparse(given.value).endswith(".device") and node.args:
                before = node.keywords[-2].value if len(node.keywords) > 1 else node.args[-1]
                return _cut(text, before, given)
    return None


def _cut(text: str, after: ast.AST, until: ast.AST) -> str | None:
    """The text without what stands behind the end of one node, up to the end of another in the same line."""
    if after.end_lineno != until.end_lineno:
        return None
    lines = text.split("\n")
    row = lines[after.end_lineno - 1].encode()
    lines[after.end_lineno - 1] = (row[: after.end_col_offset] + row[until.end_col_offset :]).decode()
    return "\n".join(lines)
