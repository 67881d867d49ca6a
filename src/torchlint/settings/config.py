"""The settings of one run, as the rest of the program has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from torchlint.findings import Severity
from torchlint.settings.upper_bounds import in_words

# As ruff and its peers: folders that hold other people's code, builds or caches.
DEFAULT_EXCLUDES = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pants.d",
    ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".torchlint_cache", ".tox", ".venv", ".vscode",
    "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages", "venv",
)
CACHE_FOLDER = ".torchlint_cache"
MOST_BYTES = 4_000_000  # of a settings file


class ConfigError(ValueError):
    """Settings that cannot be used; the text names the file and the line."""


class Layer(msgspec.Struct, frozen=True):
    """What one place says: a settings file, or what was given with `--config`. `path` is None for the latter."""

    path: Path | None
    text: str
    data: dict[str, Any]

    def complain(self, key: str, message: str, word: str = "") -> ConfigError:
        """The error to raise about a key, or about a word in its value."""
        if self.path is None:
            return ConfigError(f"--config {self.text}: {message}")
        from torchlint.settings.lines import line_of

        return ConfigError(f"{self.path}:{line_of(self.text, self.path, key, word)}: {message}")


class Config(msgspec.Struct, frozen=True):
    """The settings of one run. Paths in them are relative to `root`; `path` is the file they come from, if any, `layers` all
    that says something of them, the strongest first."""

    root: Path
    path: Path | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    extend_per_file_ignores: dict[str, tuple[str, ...]] = {}
    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    torch_version: tuple[int, int] | None = None
    releases: tuple[tuple[str, tuple[int, int]], ...] = ()
    newest: tuple[tuple[str, tuple[int, int]], ...] = ()
    severity: dict[str, Severity] = {}
    fail_on: Severity = Severity.NOTE
    unused_noqa: bool = False
    output_format: str | None = None
    cache_dir: Path | None = None
    extend_rules: tuple[str, ...] = ()
    strict_tests: bool = False
    layers: tuple[Layer, ...] = ()

    @property
    def torch_in_words(self) -> str:
        """The releases of torch to judge by: "1.8 and later", "2.6", "not known"."""
        return in_words(self.torch_version, dict(self.newest).get("torch"))

    def complain(self, key: str, message: str, word: str = "") -> ConfigError:
        """The error to raise about a key, or about a word in its value: of the place that says it."""
        saying = [layer for layer in self.layers if key in layer.data]
        holding = [layer for layer in saying if word and word in str(layer.data[key])]
        told = [*holding, *saying, *self.layers]
        return told[0].complain(key, message, word) if told else ConfigError(message)
