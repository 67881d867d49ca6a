"""Where events come from: one file per source. Each has `install(patches)`, called when the first watch starts.

A probe puts hooks and replacements in place through the given `Patches`, which takes them away when the last watch
ends, and tells what happens through `torchsan.stream.events`. It judges nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import FunctionType

from torchsan.program.compiled import never_compiled
from torchsan.report.deliver import say
from torchsan.stream.patches import Patches


def install_all(patches: Patches) -> None:
    """Install every probe of this folder. One that cannot work with this torch says so and is left out."""
    with patches.together():
        for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
            try:
                probe = importlib.import_module(f"{__name__}.{module}")
                probe.install(patches)
                for one in vars(probe).values():
                    if isinstance(one, FunctionType) and one.__module__ == probe.__name__:
                        never_compiled(one.__code__)
            except Exception as error:
                say(f"the {module} probe does not work with this torch and is off: {type(error).__name__}: {error}")
