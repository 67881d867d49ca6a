"""torchsan: finds the mistakes that ruin PyTorch training, in the live run, while it trains.

    with torchsan.watch(model) as san:
        train(model)
    print(san.report())

Importing the package does not import torch; the first use of a name below does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["Finding", "SanError", "SanWarning", "Watch", "__version__", "watch"]
_MODULES = ("accelerate", "ignite", "lightning", "transformers", "writers")

if TYPE_CHECKING:
    from torchlint import __version__
    from torchlint.findings import Finding
    from torchsan.report.deliver import SanError, SanWarning
    from torchsan.watcher import Watch, watch


def __getattr__(name: str) -> Any:
    if name in ("Watch", "watch"):
        from torchsan import watcher as home
    elif name in ("SanError", "SanWarning"):
        from torchsan.report import deliver as home
    elif name == "Finding":
        from torchlint import findings as home
    elif name == "__version__":
        import torchlint as home
    elif name in ("load_ipython_extension", "unload_ipython_extension"):  # %load_ext torchsan
        from torchsan.run import notebook_extension as home
    elif name in _MODULES:
        return importlib.import_module(f"torchsan.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(home, name)
    return value
