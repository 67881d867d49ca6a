"""Writes a file in one step: who reads it sees the old content or the new, also where a run is killed in the middle."""

from __future__ import annotations

import os
from collections.abc import Callable

from torchlint.reading import read_bytes

TEMPORARY = ".torchlint-"  # how the names of files begin that are being written


class Changed(OSError):
    """A file is not any more what it was when it was judged."""

    def __init__(self) -> None:
        super().__init__("it was changed while torchlint ran; run torchlint again")


def replace(
    path: str | os.PathLike[str],
    data: bytes,
    prepare: Callable[[str], None] | None = None,
    before: bytes | None = None,
) -> None:
    """Put a file of these bytes in the place of `path`.

    Args:
        path: where; a link that stands there is replaced itself.
        data: the content.
        prepare: given the new file's name before it takes its place, to set mode and owner. Without it only the user
            may read and write the file.
        before: what must stand there still, directly before it is replaced.

    Raises:
        Changed: something else than `before` stands there. What it is stays.
        OSError: it cannot be written. What was there is there still, and nothing is left behind.
    """
    import tempfile  # a run that changes nothing needs it not

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        if prepare is not None:
            prepare(temporary)
        # No lock: editors would not heed it. Two runs that both get past this line write whole files made for one text.
        if before is not None and read_bytes(path) != before:
            raise Changed
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
