"""Whether a file may matter at all, told by its text alone."""

from __future__ import annotations

# A file that has none of these words cannot make a torch event.
_LIBRARIES = (b"torch", b"lightning", b"accelerate", b"transformers", b"timm", b"ignite", b"fastai", b"deepspeed")


def may_matter(text: str) -> bool:
    """Whether the text names torch, or a library on top of it, at all."""
    data = text.encode("utf-8", "surrogatepass")
    return any(library in data for library in _LIBRARIES)
