"""What `-v` tells on standard error: which settings, how many files, how long each part took, and what the slow ones are due to."""

from __future__ import annotations

import os
import sys
import time

from torchlint.cli.parts import Parts
from torchlint.report import clean
from torchlint.run.runner import Look

_SLOWEST = 5


class Stopwatch:
    """Takes the time of the stages of a run."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._stages: list[tuple[str, float]] = []

    def mark(self, stage: str) -> None:
        """What went by since the last mark was this."""
        now = time.perf_counter()
        self._stages.append((stage, now - self._last))
        self._last = now

    def tell(self, parts: Parts) -> None:
        """Print it all."""
        looks: list[Look] = []
        for part in parts:
            config = part.config
            version = config.torch_in_words
            found = config.path or "none: the defaults"
            looks += part.runner.looks
            _say(f"settings {found}: torch {version}, {len(part.rules)} rule{'' if len(part.rules) == 1 else 's'}, {_files(len(part.files))}")
        files = sum(len(part.files) for part in parts)
        others = sum(part.runner.others for part in parts)
        around = f" and {_files(others)} that use {'it' if files == 1 else 'them'}" if others else ""
        _say(f"of {_files(files)}{around}, {files + others - len(looks)} known from the cache, {len(looks)} judged")
        _say("times: " + ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self._stages))
        slow = sorted(looks, key=lambda look: -look.seconds)[:_SLOWEST]
        for look in slow:
            _say(f"{look.seconds:.2f} s {os.path.relpath(look.path)}: {_why(look)}")


def _why(look: Look) -> str:
    due = [f"{look.size:,} bytes"]
    if look.others:
        due.append(f"follows calls into {_files(look.others)}")
    if look.in_part:
        due.append("too large for one dry run, judged in parts")
    return ", ".join(due)


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"


def _say(line: str) -> None:
    print(f"torchlint: {clean(line)}", file=sys.stderr)
