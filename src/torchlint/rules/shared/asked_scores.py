"""Which best score a condition compares with: `acc > best_acc + delta`, `loss < best or best is None`, the `else` of `score < self.best`;
and `loss < min_loss`, where nothing but what is less gets that name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.rules.mends.rows import text_of, tree_of

NAME = r"(?:self\.)?\w*best\w*"
_NAMED = re.compile(NAME, re.IGNORECASE)
# Other words for it, which are limits, too (`max_epochs`): these have to be set where they are beaten.
_EXTREME = re.compile(r"(?:self\.)?(?:\w*_)?(?:min|max|lowest|highest|least|greatest|minimum|maximum)(?:imal)?(?:_\w*)?", re.IGNORECASE)
_MARGIN = re.compile(r"(?:[\w.]*\.)?\w*(?:delta|eps|tol|margin|thres)\w*$", re.IGNORECASE)


def score_asked(asked: Site, holds: bool) -> str | None:
    """The name of the best score that a condition compares with, whether it is so or not."""
    at = asked.location()
    return asked.parsed.facts.once(("score asked", at.row, at.column, holds), lambda: _score_asked(asked, holds))


def _score_asked(asked: Site, holds: bool) -> str | None:
    try:
        test = ast.parse(f"({asked.text()})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    for name, other in _compared(test, holds):
        if holds and _NAMED.fullmatch(name):
            return name
        if (_NAMED.fullmatch(name) or _EXTREME.fullmatch(name)) and _gets_what_beats_it(asked, name, other, holds):
            return name
    return None


def _compared(test: ast.expr, holds: bool) -> Iterator[tuple[str, str]]:
    """The names that a condition compares something with, and what, on whichever way it comes out as it does."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _compared(test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        yield from (pair for value in test.values for pair in _compared(value, holds))
    elif isinstance(test, ast.BoolOp):
        pairs = [pair for value in test.values for pair in _compared(value, holds) if _NAMED.fullmatch(pair[0]) or _EXTREME.fullmatch(pair[0])]
        if len(pairs) == 1 and sum(_is_none_yet(value, pairs[0][0]) or _is_mode(value) for value in test.values) == len(test.values) - 1:
            yield pairs[0]
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        left, right = test.left, test.comparators[0]
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub) and _is_margin(right):
            left, right = left.left, left.right  # acc - best_acc > 0.001
        left, right = _without_margin(left), _without_margin(right)
        yield from ((ast.unparse(one), ast.unparse(other)) for one, other in ((right, left), (left, right)) if isinstance(one, (ast.Name, ast.Attribute)))


def _is_mode(test: ast.expr) -> bool:
    """Whether it is asked what a program is to do, which is one thing in a whole training: `metric == "last" or acc > best`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq) or not isinstance(test.left, (ast.Name, ast.Attribute)):
        return False
    asked = test.comparators[0]
    return isinstance(asked, ast.Constant) and isinstance(asked.value, str)


def _is_none_yet(test: ast.expr, name: str) -> bool:
    """Whether it is asked if there is no best one yet."""
    return ast.unparse(test) in (f"{name} is None", f"not {name}", f"{name} == None")


def _without_margin(node: ast.expr) -> ast.expr:
    """What is to be beaten by a margin: `best_acc + 0.001`."""
    margin = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)) and _is_margin(node.right)
    return node.left if margin else node


def _is_margin(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or isinstance(node, (ast.Name, ast.Attribute)) and _MARGIN.match(ast.unparse(node)) is not None


def _gets_what_beats_it(asked: Site, name: str, other: str, holds: bool) -> bool:
    """Whether a name is set to what it was compared with, just where the condition comes out as it does: of a limit that is only kept to,
    of the last one that is told in each epoch, and of the `else` where a score was no better, that is not so."""
    tree, row = tree_of(text_of(asked.parsed)), asked.location().row
    ifs = [node for node in ast.walk(tree) if isinstance(node, ast.If) and node.test.lineno == row]
    return any(
        isinstance(node, ast.Assign) and len(node.targets) == 1 and ast.unparse(node.targets[0]) == name and ast.unparse(node.value) in (other, f"{other}.item()")
        for one in ifs for part in (one.body if holds else one.orelse) for node in ast.walk(part)
    )
