"""Where the user's files assign to an attribute of a given name: for names so odd that they stand there once."""

from __future__ import annotations

import ast
import sys
from typing import NamedTuple

from torchsan.own import linecache, os
from torchsan.program.where import _USER, Where, kind_of


class Written(NamedTuple):
    """An assignment: its place, and the text of the object whose attribute it sets."""

    place: Where
    owner: str


def assignments(attribute: str) -> list[Written] | None:
    """The lines that set an attribute of this name: in the files that are running, or else in any of the user's; None
    where a file also reads it, so that it has a use."""
    for files in (running(), loaded()):
        found: list[Written] = []
        for filename in files:
            some = _in_file(filename, attribute)
            if some is None:
                return None
            found.extend(some)
        if found:
            return found
    return []


def _in_file(filename: str, attribute: str) -> list[Written] | None:
    text = "".join(linecache.getlines(filename))
    try:
        tree = ast.parse(text) if attribute in text else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError):
        return []
    found, code = [], compile("", filename, "exec")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == attribute:
            if isinstance(node.ctx, ast.Store):
                found.append(Written(Where(code, -1, node.lineno), ast.unparse(node.value)))
            elif not attribute.endswith("_"):  # requires_grad_ is there to be called
                return None
        elif isinstance(node, ast.Constant) and node.value == attribute:
            return None
    return found


def running() -> list[str]:
    """The user's files that have a frame on the stack, cells of a notebook among them."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        if kind_of(frame.f_code.co_filename) == _USER:
            found.append(frame.f_code.co_filename)
        frame = frame.f_back
    return list(dict.fromkeys(found))


def loaded() -> list[str]:
    """The files of the user's modules that have been imported."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    # The modules behind torch.ops only pretend to have one.
    found = [file for file in files if isinstance(file, str) and os.path.isabs(file)]
    return list(dict.fromkeys(file for file in found if kind_of(file) == _USER))
