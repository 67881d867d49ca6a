"""torchlint: finds the mistakes that ruin PyTorch training, in the source, before it starts."""

import importlib

__version__ = "0.1.0"
__all__ = ["Edit", "Finding", "Findings", "Fix", "Location", "Related", "Session", "Severity", "check"]

# Where they are, as text: this file lies below all others, and loads none of them before somebody asks.
_PUBLIC = {
    **dict.fromkeys(("Edit", "Finding", "Fix", "Location", "Related", "Severity"), "torchlint.findings"),
    **dict.fromkeys(("Findings", "Session"), "torchlint.run.session"),
    "check": "torchlint.api",
}
_ELSEWHERE = {**_PUBLIC, **dict.fromkeys(("load_ipython_extension", "unload_ipython_extension"), "torchlint.magics")}


def __getattr__(name: str):
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_ELSEWHERE[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
