"""What `torchlint [PATHS]` was asked for: the options as they were given, and which of them contradict each other."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

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
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    add_noqa: bool = False
    baseline: str | None = None
    update_baseline: bool = False
    with_report: str | None = None
    unused_noqa: bool = False
    show_settings: bool = False
    show_files: bool = False
    torch_version: tuple[int, int] | None = None
    output_format: str = "full"
    output_file: str | None = None
    statistics: bool = False
    quiet: bool = False
    exit_zero: bool = False
    jobs: int | None = None
    no_cache: bool = False
    cache_dir: str | None = None
    stdin_filename: str | None = None
    force_exclude: bool = False
    config_file: str | None = None
    isolated: bool = False
    no_scout: bool = False  # to compare what is found with and without it

    def __post_init__(self) -> None:
        if self.reads_stdin and len(self.paths) > 1:
            raise click.UsageError("- (standard input) cannot be given together with other paths")
        if self.stdin_filename and not self.reads_stdin:
            raise click.UsageError("--stdin-filename is of use only where standard input is read: give - as the path")
        if self.unsafe_fixes and not (self.fix or self.diff):
            raise click.UsageError("--unsafe-fixes is of use only together with --fix or --diff")
        if self.with_report is not None and (self.reads_stdin or self.diff):
            raise click.UsageError("--with cannot be used on standard input or together with --diff")
        if self.update_baseline and self.baseline is None:
            raise click.UsageError("--update-baseline is of use only together with --baseline FILE")
        if self.update_baseline and (self.reads_stdin or self.diff):
            raise click.UsageError("--update-baseline cannot be used on standard input or together with --diff")

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
