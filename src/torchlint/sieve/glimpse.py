"""What is kept of a look into a file that another one uses: see `looks.py`."""

from __future__ import annotations

import msgspec


class Glimpse(msgspec.Struct, frozen=True, array_like=True):
    """What was looked at besides the outline of a file, and the digest of it all.

    `rows` is whether it was asked in which rows something stands, `words` whether for the words of the file; `units` holds, by
    kind of question, a bit for each unit that it was asked of, in the order of `all_units`; `names` tells which functions the
    file had: see `added.py`.
    """

    rows: bool
    words: bool
    units: tuple[bytes, ...]
    digest: bytes
    names: bytes = b""
