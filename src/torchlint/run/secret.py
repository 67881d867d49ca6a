"""A secret of this user's, outside of every tree that is judged: what a cache says counts only where it was written with it."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache
from pathlib import Path

from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.settings.variables import CACHE_SECRET

SIZE = 32


class NoSecret(OSError):
    """There is no place for the secret, or what is there cannot be trusted."""


@lru_cache(maxsize=1)
def secret() -> bytes:
    """The secret: what TORCHLINT_CACHE_SECRET says, for machines that share a cache, or else a file in the user's own folder,
    which is made when it is first asked for.

    Raises:
        NoSecret: it can neither be read nor made.
    """
    given = os.environ.get(CACHE_SECRET)
    if given:
        return given.encode("utf-8", "surrogateescape")
    path = _folder() / "cache-secret"
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise NoSecret(f"{path}: {describe(error)}") from None
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(path)
        return _read(path)
    except OSError as error:
        raise NoSecret(f"{path}: {describe(error)}") from None


def _folder() -> Path:
    """Where programs keep what they need from run to run. A place that is not absolute would be in the tree."""
    if sys.platform == "win32":
        named = os.environ.get("LOCALAPPDATA", "")
    else:
        named = os.environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(named):
        return Path(named, "torchlint")
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise NoSecret("there is no home folder to keep a secret in")
    return Path(home, ".local", "state", "torchlint")


def _read(path: Path) -> bytes:
    """Raises OSError where it is not there, or may be another user's."""
    found = read_bytes(path, 2 * SIZE)
    if os.name == "posix":
        info = os.stat(path)
        if info.st_uid != os.geteuid() or info.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise PermissionError(1, "it is not this user's alone")
    if len(found) != SIZE:
        raise OSError(5, "it is broken; delete it")
    return found


def _make(path: Path) -> None:
    """Of two runs that come to this at once, the first one's stays."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(SIZE))
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not path.exists():
                os.replace(temporary, path)
    finally:
        if temporary.exists():
            temporary.unlink()
