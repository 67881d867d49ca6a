"""Data that come from the library `datasets`: `load_dataset(...)["train"].map(...)`."""

from __future__ import annotations

import re

from torchlint.dryrun.values import Opaque, Value, real
from torchlint.rules.shared.sample_order import OF_TIME

_LOADS = re.compile(r"^datasets\.(?:\w+\.)*load_(?:dataset|from_disk)$")
# What leaves the samples where they are. (`shuffle`, `select` and `train_test_split` do not, or may not.)
_KEEPS_ORDER = frozenset({
    "map", "filter", "cast", "cast_column", "with_format", "with_transform", "remove_columns", "rename_column", "rename_columns",
    "class_encode_column", "flatten", "add_column", "select_columns",
})
_DEEPEST = 12


def in_order_of_the_hub(dataset: Value) -> bool:
    """Whether a data set is one part of what the library has loaded, in the order of the file. What is streamed has no numbers, and
    a loader refuses to mix it."""
    for _ in range(_DEEPEST):
        if type(dataset) is not Opaque:
            return False
        if dataset.source == "call" and dataset.site is not None and _LOADS.match(dataset.name):
            return not re.search("streaming", dataset.site.text()) and not OF_TIME.search(dataset.site.text())
        if dataset.source != "item" and not (dataset.source == "call" and dataset.name in _KEEPS_ORDER):
            return False
        alts = real(dataset.origin)
        dataset = alts[0] if len(alts) == 1 else None
    return False
