"""What events tell of pitfalls: a file a check or family, in its area's folder; each lists its classes in `CHECKS`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from torchsan.check import Check


@lru_cache(maxsize=1)
def known() -> tuple[type[Check], ...]:
    """All check classes under `torchsan/checks/`: those that hear events first, then by the names of their files."""
    found: list[type[Check]] = []
    for name in sorted(info.name for info in pkgutil.walk_packages(__path__, f"{__name__}.")):
        found.extend(getattr(importlib.import_module(name), "CHECKS", ()))
    return tuple(sorted(found, key=lambda check: not check.hears_first))
