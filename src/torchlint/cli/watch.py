"""`--watch`: judges again whenever a file changes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click

from torchlint.cli.parts import Parts
from torchlint.cli.request import Request
from torchlint.report import clean
from torchlint.settings.lookup import SETTINGS_FILES, shared_folder

_PAUSE = 0.5
_SHARE = 10  # of the time at most one part of this many is spent looking


def watch(request: Request, check: Callable[[Request], int]) -> int:
    """Judge, wait for a change, judge again, until it is interrupted.

    Returns:
        The exit status.
    """
    try:
        while True:
            if sys.stdout.isatty():
                print("\x1b[2J\x1b[H", end="")
            before = _state(request)
            try:
                check(request)
            except (click.ClickException, ValueError, OSError) as error:
                message = error.format_message() if isinstance(error, click.ClickException) else str(error)
                print(f"torchlint: error: {clean(message)}", file=sys.stderr)
            sys.stdout.flush()
            if request.mends:
                before = _state(request)  # what was mended is no reason to look again
            print(f"torchlint: watching {len(before)} files, Ctrl-C ends it", file=sys.stderr)
            spent = 0.0
            while True:
                time.sleep(max(_PAUSE, _SHARE * spent))
                start = time.perf_counter()
                if _state(request) != before:
                    break
                spent = time.perf_counter() - start
    except KeyboardInterrupt:
        return 0


def _state(request: Request) -> dict[str, tuple[int, int]]:
    """When the files that are judged, those that use them, and the settings, were last changed, and how large they are."""
    paths: set[str] = set()
    try:
        parts = Parts(request)
        found = [file.path for file in parts.find()]
        paths.update(found)
        for part in parts:
            projects = part.runner.projects
            paths.update(*(projects.of(file.path).files or () for file in part.files))
        paths.update(str(layer.path) for part in parts for layer in part.config.layers if layer.path)
    except (click.ClickException, ValueError, OSError):
        pass  # settings that cannot be used: a change of theirs is waited for
    start = shared_folder([Path(path) for path in request.wanted])
    paths.update(str(folder / name) for folder in (start, *start.parents) for name in SETTINGS_FILES)
    seen = {}
    for path in paths:
        try:
            info = os.stat(path)
            seen[path] = (info.st_mtime_ns, info.st_size)
        except OSError:
            pass
    return seen
