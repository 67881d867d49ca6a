"""Whether a file may matter at all, told by its text alone."""

from __future__ import annotations

from collections.abc import Iterable

# A file that has none of these words cannot make a torch event.
_LIBRARIES = (b"torch", b"lightning", b"accelerate", b"transformers", b"peft", b"timm", b"ignite", b"fastai", b"deepspeed")


def may_matter(text: str, more: Iterable[bytes] = ()) -> bool:
    """Whether the text names torch, a library on top of it, or one of some more words, at all."""
    data = text.encode("utf-8", "surrogatepass")
    return any(word in data for word in (*_LIBRARIES, *more))
