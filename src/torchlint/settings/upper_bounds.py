"""The newest release that the bounds of a requirement admit."""

from __future__ import annotations

import re

Release = tuple[int, int]
# Newer than any minor release: `<2` admits each release of torch 1.
ANY = 1_000_000
UNBOUNDED: Release = (ANY, ANY)
_BOUND = re.compile(r"(?P<how>===?|~=|<=?) ?(?P<major>[0-9]{1,6})(?:\.(?P<minor>[0-9]{1,6}))?(?P<patch>\.[0-9]+)?")


def newest(bounds: str) -> Release:
    """The newest (major, minor) within bounds such as `>=1.2,<2`, `~=1.9` and `==2.1`; `UNBOUNDED` where nothing ends them. Of `<2`,
    which ends between two releases, it is (1, `ANY`)."""
    return min((_end(found) for found in _BOUND.finditer(bounds)), default=UNBOUNDED)


def _end(found: re.Match[str]) -> Release:
    major, minor, patch = int(found["major"]), int(found["minor"] or 0), found["patch"] or ""
    if found["how"] == "<":
        if patch.strip(".0"):
            return major, minor
        return (major, minor - 1) if minor else (major - 1, ANY)
    return (major, ANY) if found["how"] == "~=" and not patch else (major, minor)


def in_words(lowest: Release | None, top: Release | None) -> str:
    """Both ends as people say them: "1.8 and later", "1.8 to 2.5", "1.13", "before 2.0", "not known"."""
    if top is None or lowest == top:
        return "not known" if lowest is None else "{}.{}".format(*lowest)
    if top == UNBOUNDED:
        return "not known" if lowest is None else "{}.{} and later".format(*lowest)
    end = f"before {top[0] + 1}.0" if top[1] == ANY else "{}.{}".format(*top)
    if lowest is None:
        return end if top[1] == ANY else f"{end} and earlier"
    return "{}.{}{}".format(*lowest, ", " + end if top[1] == ANY else f" to {end}")
