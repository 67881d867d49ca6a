"""The code of the files that a file may run together with, as text."""

from __future__ import annotations

from torchlint.rules.base import View


def code_around(view: View, path: str) -> dict[str, str]:
    """The code, comments left out, of a file, of those that import it, and of all that these import, by way of others too; empty
    where the project is not read."""
    project = view.run.world.project_of(path)
    if project is None or path not in project.files:
        return {}
    found: dict[str, str] = {}
    todo = [path, *(user.path for user in project.users(path))]
    while todo:
        file = project.files.get(todo.pop())
        if file is not None and file.path not in found:
            found[file.path] = file.code
            todo.extend(file.imports)
    return found
