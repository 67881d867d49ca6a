"""The line that keeps autograd off where some code runs: a `with torch.no_grad():` around it, or the decorator of its function."""

from __future__ import annotations

import ast
from types import CodeType, FrameType

from torchsan.own import linecache, re, torch
from torchsan.program.where import _USER, Where, kind_of

_SWITCHES = re.compile(r"^(?:torch\.)?(?:autograd\.)?(?:grad_mode\.)?(?:no_grad|inference_mode)\b|^(?:torch\.)?set_grad_enabled\(False\)$")
_DEEP = 60  # frames that are looked through


def switched_off(frame: FrameType | None) -> Where | None:
    """The line that switched autograd off for the code that runs: the innermost one that says so in the program's own functions
    that are running. None where none does.

    Args:
        frame: where to begin; the functions that have called it are looked at, too.
    """
    for _ in range(_DEEP):
        if frame is None:
            return None
        if kind_of(frame.f_code.co_filename) == _USER:
            row = _row(frame.f_code, frame.f_lineno)
            if row is not None:
                return Where(frame.f_code, -1, row)
        frame = frame.f_back
    return None


def _row(code: CodeType, row: int) -> int | None:
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = None
    for node in ast.walk(tree):
        if isinstance(node, (ast.With, ast.AsyncWith)) and node.lineno <= row <= (node.end_lineno or row):
            found = next((item.context_expr.lineno for item in node.items if _is_switch(item.context_expr)), found)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and code.co_name == node.name:
            if node.lineno <= row <= (node.end_lineno or row) and code.co_firstlineno in (node.lineno, *(one.lineno for one in node.decorator_list)):
                found = next((one.lineno for one in node.decorator_list if _is_switch(one)), found)
    return found


def _is_switch(node: ast.expr) -> bool:
    return bool(_SWITCHES.match(ast.unparse(node)))


def is_off() -> bool:
    """Whether autograd is off here."""
    return not torch.is_grad_enabled() or torch.is_inference_mode_enabled()
