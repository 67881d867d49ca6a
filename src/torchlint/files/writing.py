"""Writes a file in one step: who reads it sees the old content or the new, also where a run is killed in the middle."""

from __future__ import annotations

import os
from collections.abc import Callable

TEMPORARY = ".torchlint-"  # how the names of files begin that are being written


def replace(path: str | os.PathLike[str], data: bytes, prepare: Callable[[str], None] | None = None) -> None:
    """Put a file of these bytes in the place of `path`.

    Args:
        path: where; a link that stands there is replaced itself.
        data: the content.
        prepare: given the new file's name before it takes its place, to set mode and owner. Without it only the user
            may read and write the file.

    Raises:
        OSError: it cannot be written. What was there is there still, and nothing is left behind.
    """
    import tempfile  # a run that changes nothing needs it not

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if prepare is not None:
            prepare(temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
