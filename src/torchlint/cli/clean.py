"""`torchlint clean`: removes the caches."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from torchlint.cli.status import FAILED
from torchlint.files.source import describe
from torchlint.report import clean as shown
from torchlint.run.cache import clear
from torchlint.settings.config import CACHE_FOLDER
from torchlint.settings.lookup import cache_folder, load


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("folders", nargs=-1, metavar="[FOLDER]...")
@click.option("-q", "--quiet", is_flag=True, help="Print failures, nothing else.")
def clean(folders: tuple[str, ...], quiet: bool) -> int:
    """Remove the cache of the project that FOLDER is in (the current one by default), and those in folders below it.

    What torchlint has not written is left alone.
    """
    status = 0
    for place in _caches([Path(folder) for folder in folders] or [Path.cwd()]):
        try:
            if clear(place) and not quiet:
                print(f"removed {shown(os.path.relpath(place))}")
        except OSError as error:
            print(f"torchlint: {shown(str(place))}: cannot be removed: {describe(error)}", file=sys.stderr)
            status = FAILED
    return status


def _caches(folders: list[Path]) -> list[Path]:
    found = {cache_folder(load([folder])): None for folder in folders}
    for top in folders:
        for place, inner, _ in os.walk(os.path.abspath(top)):
            found |= {Path(place, name): None for name in inner if name == CACHE_FOLDER}
            inner[:] = [name for name in inner if name not in (CACHE_FOLDER, ".git")]
    return list(found)
