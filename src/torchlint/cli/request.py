"""What `torchlint [PATHS]` was asked for: the options as they were given, and which of them contradict each other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from torchlint.settings.overrides import Overrides, Table

STDIN = "-"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one command, by the names that `cli/arguments.py` gives them. None where an option was not given.

    Raises:
        click.UsageError: options that contradict each other.
    """

    paths: tuple[str, ...] = ()
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    per_file_ignores: Table | None = None
    extend_per_file_ignores: Table | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    fix_only: bool = False
    diff: bool = False
    show_fixes: bool = False
    fixable: tuple[str, ...] | None = None
    unfixable: tuple[str, ...] | None = None
    add_noqa: bool = False
    baseline: str | None = None
    update_baseline: bool = False
    with_report: str | None = None
    unused_noqa: bool = False
    ignore_noqa: bool = False
    show_settings: bool = False
    show_files: bool = False
    torch_version: tuple[int, int] | None = None
    output_format: str | None = None
    output_file: str | None = None
    statistics: bool = False
    color: str = "auto"
    watch: bool = False
    quiet: bool = False
    verbose: bool = False
    fail_on: str | None = None
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False
    jobs: int | None = None
    no_cache: bool = False
    cache_dir: str | None = None
    stdin_filename: str | None = None
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] | None = None
    force_exclude: bool = False
    alone: bool = False
    configs: tuple[str, ...] = ()
    isolated: bool = False
    no_scout: bool = False  # to compare what is found with and without it
    no_summaries: bool = False  # the same

    def __post_init__(self) -> None:
        if self.reads_stdin and len(self.paths) > 1:
            raise click.UsageError("- (standard input) cannot be given together with other paths")
        if self.stdin_filename and not self.reads_stdin:
            raise click.UsageError("--stdin-filename is of use only where standard input is read: give - as the path")
        if len(self._files) > 1:
            raise click.UsageError(f"--config names several files: {', '.join(self._files)}")
        if self.fix_only and self.diff:
            raise click.UsageError("--fix-only changes files, and --diff changes none")
        if self.show_fixes and not self.mends:
            raise click.UsageError("--show-fixes is of use only together with --fix or --fix-only")
        if self.watch and (self.reads_stdin or self.show_files or self.show_settings):
            raise click.UsageError("--watch waits for files to change: it cannot be used on standard input, or where nothing is judged")
        if self.quiet and self.verbose:
            raise click.UsageError("--quiet and --verbose exclude each other")
        if self.with_report is not None and (self.reads_stdin or self.diff):
            raise click.UsageError("--with cannot be used on standard input or together with --diff")
        if self.update_baseline and self.baseline is None:
            raise click.UsageError("--update-baseline is of use only together with --baseline FILE")
        if self.update_baseline and (self.reads_stdin or self.diff):
            raise click.UsageError("--update-baseline cannot be used on standard input or together with --diff")

    @property
    def mends(self) -> bool:
        """Whether files are to be changed so that findings go."""
        return self.fix or self.fix_only

    @property
    def _files(self) -> list[str]:
        return [text for text in self.configs if "=" not in text or os.path.exists(text)]

    @property
    def config_file(self) -> Path | None:
        """The settings file that was named."""
        return Path(self._files[0]) if self._files else None

    @property
    def overrides(self) -> Overrides | None:
        """What is laid over the settings, if anything is.

        Raises:
            ConfigError: what was given with --config is no setting, or a pattern matches nothing.
        """
        inline = [text for text in self.configs if text not in self._files]
        options = {
            "exclude": self.exclude, "extend_exclude": self.extend_exclude, "per_file_ignores": self.per_file_ignores,
            "extend_per_file_ignores": self.extend_per_file_ignores, "fixable": self.fixable, "unfixable": self.unfixable,
            "torch_version": self.torch_version,
        }
        if not inline and all(value is None for value in options.values()):
            return None
        from torchlint.settings.overrides import overrides_of

        return overrides_of(inline, **options)

    @property
    def reads_stdin(self) -> bool:
        """Whether standard input is judged, and no file."""
        return STDIN in self.paths

    @property
    def wanted(self) -> tuple[str, ...]:
        """The files and folders to be judged."""
        return self.paths or (".",)

    @property
    def stdin_name(self) -> str:
        """What standard input is called."""
        return self.stdin_filename or STDIN

    @property
    def places(self) -> list[Path]:
        """Where settings are looked for."""
        return [Path(self.stdin_filename or ".")] if self.reads_stdin else [Path(path) for path in self.wanted]
