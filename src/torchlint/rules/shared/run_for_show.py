"""Calls whose result nobody wants: they are timed, tried, or shown one after the other."""

from __future__ import annotations

import ast
import re

from torchlint.dryrun.source_text import Site
from torchlint.rules.mends.rows import statement_at

_CLOCKS = re.compile(
    r"perf_counter|time|monotonic|process_time|timeit|Timer|Event|synchronize|profile|profiler|record_function|bench\w*"
)
_CHANGES_NO_MORE = re.compile(r"no_grad|enable_grad|inference_mode|set_grad_enabled")


def is_meant(site: Site) -> bool:
    """Whether a call that stands alone was to do something: nothing times it, tries it, or repeats it for nothing, and it is not one
    of several in a row."""
    place = statement_at(site)
    if place is None or any(map(_CLOCKS.fullmatch, site.parsed.unit.words)):
        return False
    beside = place.block[max(place.index - 1, 0) : place.index] + place.rest[:1]
    return not any(map(_is_bare_call_of_torch, beside)) and not any(map(_runs_it_for_show, place.parents))


def _is_bare_call_of_torch(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "torch" and not func.attr.endswith("_")


def _runs_it_for_show(parent: ast.AST) -> bool:
    """Whether something around a call catches what it raises, times it, or repeats it without a number."""
    if isinstance(parent, (ast.With, ast.AsyncWith)):
        return not all(_CHANGES_NO_MORE.search(ast.dump(item.context_expr)) for item in parent.items)
    return isinstance(parent, ast.Try) or isinstance(parent, ast.For) and isinstance(parent.target, ast.Name) and parent.target.id == "_"
