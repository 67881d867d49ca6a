"""Hatchling's hook for the wheel: all rule pages once more, in one file that is read in a millisecond, where the pages take
thirty. A working tree has none: there the pages change."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompilePages(BuildHookInterface):
    """Puts `pages.msgpack` beside the pages."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the file, unless the package is installed as a link to this tree.

        Raises:
            PageError: a page cannot be used.
        """
        if version == "editable":
            return
        sys.path.insert(0, str(Path(self.root, "src")))
        from torchlint.catalogue.pages import COMPILED, compiled

        self._folder = tempfile.mkdtemp()
        made = Path(self._folder, COMPILED)
        made.write_bytes(compiled(Path(self.root, "rules")))
        build_data["force_include"][str(made)] = f"torchlint/_rules/{COMPILED}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if version != "editable":
            shutil.rmtree(self._folder)
