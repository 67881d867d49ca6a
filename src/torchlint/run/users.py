"""The files that use a file: what they do can make a finding in it, and a change of it can make one in them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from torchlint.files.modules import Modules
from torchlint.files.project import Project


class Users:
    """Looks through each project once.

    Args:
        modules: finds what is imported.
    """

    def __init__(self, modules: Modules):
        self._modules = modules
        self._projects: dict[str, Project] = {}

    def of(self, paths: Iterable[str]) -> list[str]:
        """The files that import some files, by way of others too, but for these themselves; in order of their names."""
        asked = {os.path.realpath(path) for path in paths}
        found: set[str] = set()
        for path in sorted(asked):
            root = self._modules.project(os.path.dirname(path))
            if root is not None:
                if root not in self._projects:
                    self._projects[root] = Project(self._modules, root)
                found.update(user.path for user in self._projects[root].users(path))
        return sorted(path for path in found if os.path.realpath(path) not in asked)
