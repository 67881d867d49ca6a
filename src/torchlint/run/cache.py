"""What earlier runs found out: verdicts by content hash, in msgpack, safe to read from a tree that is not trusted: what this user
did not write, sealed with a secret that is in no tree, counts as not there.

Layout: `<folder>/<version>/<two hex digits>.msgpack`. The version stands for everything that verdicts depend on besides
files; a shard holds the verdicts of the folders whose names hash to it, so that a run over few files reads few shards. Beside
them `mentions.msgpack` holds which names each file imports.
Written by hand: libraries for caches unpickle what they find or open a database, and anybody may have written these files.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import msgspec

from torchlint import __version__
from torchlint.files.reading import read_bytes
from torchlint.files.source import describe
from torchlint.files.writing import TEMPORARY, replace
from torchlint.run.digests import Digests
from torchlint.run.judge import ENGINE_VARIABLE, Order, Verdict
from torchlint.run.mentions import Mentions, State
from torchlint.run.secret import NoSecret, secret
from torchlint.run.shards import Shard

_FORMAT = "8"
SUM = 16  # bytes at the start of a file: the seal of the rest
_SHARDS = 64
_VERSION = re.compile(r"[0-9a-f]{20}")
_SHARD = re.compile(r"([0-9a-f]{2}|mentions)\.msgpack")
_WRITE_SECONDS = 3600  # one that is older was left behind by a process that was killed
_KEEP_SECONDS = 30 * 24 * 3600
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache folder of torchlint, see https://bford.info/cachedir/\n"


_Kept = TypeVar("_Kept")
_Mentioned = dict[str, tuple[State, Mentions]]
_MENTIONS = "mentions"
_decode = msgspec.msgpack.Decoder(Shard).decode
_decode_mentions = msgspec.msgpack.Decoder(_Mentioned).decode


def version_key(order: Order) -> str:
    """A name for everything besides files that verdicts depend on: ours and the engine's source, rules, settings."""
    parts = msgspec.msgpack.encode(
        [_FORMAT, __version__, _own_source(), os.environ.get(ENGINE_VARIABLE), sys.version_info[:2], order.rules,
         order.torch_version, order.roots, order.matchers, order.strict_tests, order.scout, order.summaries, order.releases, order.newest]
    )
    return hashlib.sha256(parts).hexdigest()[:20]


@lru_cache(maxsize=1)
def _own_source() -> str:
    """A hash over the sizes and times of our own source files and tables: a new engine must not trust an old one's verdicts."""
    base = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    seen = []
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", "_rules"))
        for name in sorted(names):
            if name.endswith((".py", ".json")):
                info = os.stat(os.path.join(folder, name))
                seen.append(f"{os.path.relpath(folder, base)}/{name}:{info.st_size}:{info.st_mtime_ns}")
    return hashlib.sha256("\n".join(seen).encode("utf-8", "surrogateescape")).hexdigest()


class Cache:
    """The verdicts of earlier runs. Whatever is broken in it counts as not there; failing to write is not an error.

    Args:
        folder: where it is.
        order: what files are judged by.
        digests: the hashes of files.
        inside: the folder that links must not lead out of, where the place was not asked for by the user.
    """

    def __init__(self, folder: Path, order: Order, digests: Digests, inside: Path | None = None):
        self._top = folder
        self._folder = folder / version_key(order)
        self._inside = inside
        self._known = {f"TL{rule.code:03d}": (rule.name, rule.url) for rule in order.rules}
        self._digests = digests
        self._shards: dict[str, Shard] = {}
        self._new: dict[str, dict[str, Verdict]] = {}
        self._mentions: _Mentioned = {}

    def get(self, path: str) -> Verdict | None:
        """The verdict on a file, if its content and everything it depends on are as they were."""
        shard = self._shard(_shard_name(path))
        entry = shard.entries.get(path)
        if entry is None or entry.verdict.digest != self._digests.of(path):
            return None
        try:
            changed, files = False, shard.files(entry).keys() | {path}
            for at, digest, glimpse in shard.hangs_on(entry):
                if self._digests.of(at) != digest:
                    if glimpse is None or not self._digests.show(at, glimpse, files):
                        return None
                    changed = True
            if not self._sound(entry.verdict, path, shard.files(entry) | {path: entry.verdict.digest}):
                return None
        except IndexError:
            return None
        if changed:  # the next one to ask need not look into those files
            verdict = shard.whole(entry)
            self.put(path, msgspec.structs.replace(verdict, depends={at: self._digests.of(at) for at in verdict.depends}))
        return entry.verdict

    def _sound(self, verdict: Verdict, path: str, digests: dict[str, str | None]) -> bool:
        """Whether we can have written a verdict: of active rules, and about the file and those that it depends on. A cache may
        come with a tree, and what it says of another file would be printed, or mended, as if we had found it there."""
        for finding in verdict.findings:
            if self._known.get(finding.code) != (finding.name, finding.url):
                return False
            edits = finding.fix.edits if finding.fix is not None else ()
            if any(at.filename not in digests or at.row < 1 or at.column < 1 for at in finding.places):
                return False
            if any(item.digest != (digests[item.location.filename] or "") for item in (finding, *edits)):
                return False
        return all(problem.filename == path for problem in verdict.problems)

    def put(self, path: str, verdict: Verdict) -> None:
        """Remember a verdict, to be written by `save`."""
        if verdict.lasting:
            self._new.setdefault(_shard_name(path), {})[path] = verdict

    def look_again(self, digests: Digests) -> None:
        """Forgets what was read of files and of the cache: both may be otherwise now."""
        self._digests = digests
        self._shards.clear()

    def mentions(self) -> _Mentioned:
        """What files mention, with the state that they had then."""
        return self._unsealed(_MENTIONS, _decode_mentions) or {}

    def put_mentions(self, path: str, known: tuple[State, Mentions]) -> None:
        """Remember what a file mentions, to be written by `save`."""
        self._mentions[path] = known

    def save(self) -> str | None:
        """Write what was put. Returns what went wrong, or None."""
        if not (self._new or self._mentions):
            return None
        try:
            elsewhere = self._elsewhere()
            if elsewhere is not None:
                return f"{self._top}: cache is not written: it is a link to {elsewhere}, outside of the project"
            secret()
            self._prepare()
            for name, verdicts in self._new.items():
                # Read again: another run may have written it in the meantime.
                self._write(name, self._read(name).with_more(verdicts))
            if self._mentions:
                known = {path: one for path, one in self.mentions().items() if os.path.exists(path)}
                self._write(_MENTIONS, {**known, **self._mentions})
            self._drop_old_versions()
        except NoSecret as error:
            return f"{self._top}: cache is neither read nor written, as it could not be told from a forged one: {error}"
        except OSError as error:
            return f"{self._top}: cache cannot be written: {describe(error)}"
        self._new.clear()
        self._mentions.clear()
        return None

    def _elsewhere(self) -> str | None:
        """Where a link leads that the cache is behind, if that is out of the folder that it has to be in."""
        if self._inside is None:
            return None
        real = os.path.realpath(self._folder)
        return None if Path(real).is_relative_to(os.path.realpath(self._inside)) else os.path.realpath(self._top)

    def _shard(self, name: str) -> Shard:
        if name not in self._shards:
            self._shards[name] = self._read(name)
        return self._shards[name]

    def _read(self, name: str) -> Shard:
        return self._unsealed(name, _decode) or Shard([], [], {})

    def _unsealed(self, name: str, decode: Callable[[memoryview], _Kept]) -> _Kept | None:
        """What a file of the cache holds; None where it is not there, or not ours."""
        try:
            data = memoryview(read_bytes(self._folder / f"{name}.msgpack"))
            return decode(data[SUM:]) if data[:SUM] == _seal(data[SUM:], self._place(name)) else None
        except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def _prepare(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for name, text in ((".gitignore", "# Made by torchlint\n*\n"), ("CACHEDIR.TAG", _TAG)):
            if not os.path.lexists(self._top / name):
                replace(self._top / name, text.encode())

    def _write(self, name: str, kept: Shard | _Mentioned) -> None:
        replace(self._folder / f"{name}.msgpack", sealed(msgspec.msgpack.encode(kept), self._place(name)))

    def _place(self, name: str) -> str:
        """What a seal is for, besides the content: one set of rules and settings, one shard."""
        return f"{self._folder.name}/{name}"

    def _drop_old_versions(self) -> None:
        """Versions that nobody wrote to for a month are of old releases and settings. Only what is ours goes: the folder of the
        cache may be one that holds other things, too."""
        os.utime(self._folder)
        now = time.time()
        for entry in os.scandir(self._top):
            if not (entry.is_dir(follow_symlinks=False) and _VERSION.fullmatch(entry.name)):
                continue
            is_old = entry.stat().st_mtime < now - _KEEP_SECONDS
            try:
                for item in os.scandir(entry.path):
                    left_behind = item.name.startswith(TEMPORARY) and item.stat().st_mtime < now - _WRITE_SECONDS
                    if left_behind or is_old and _SHARD.fullmatch(item.name):
                        os.unlink(item.path)
                if is_old:
                    os.rmdir(entry.path)
            except OSError:
                pass  # another run is at it, or there is something else in it


def clear(folder: Path) -> bool:
    """Remove what we have written of a cache, and the folder, if nothing else is in it; whether there was a cache.

    Raises:
        OSError: something cannot be removed.
    """
    tag = folder / "CACHEDIR.TAG"
    # A link, or a folder that only has the name: what it holds is not ours.
    if folder.is_symlink() or not tag.is_file() or read_bytes(tag, 1000) != _TAG.encode():
        return False
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False) and _VERSION.fullmatch(entry.name):
            for item in os.scandir(entry.path):
                if _SHARD.fullmatch(item.name) or item.name.startswith(TEMPORARY):
                    os.unlink(item.path)
            if not os.listdir(entry.path):
                os.rmdir(entry.path)
    for name in (".gitignore", tag.name):
        (folder / name).unlink(missing_ok=True)
    if not os.listdir(folder):
        folder.rmdir()
    return True


def _seal(data: bytes | memoryview, place: str) -> bytes:
    """Raises NoSecret where there is nothing to seal with."""
    key = hashlib.sha256(secret() + place.encode()).digest()
    return hashlib.blake2b(data, key=key, digest_size=SUM).digest()


def sealed(data: bytes, place: str) -> bytes:
    """What is written for `data`. Neither a disk that loses a byte nor a tree that brings a cache along changes what is told."""
    return _seal(data, place) + data


def _shard_name(path: str) -> str:
    folder = os.path.dirname(path).encode("utf-8", "surrogateescape")
    return f"{hashlib.sha256(folder).digest()[0] % _SHARDS:02x}"
