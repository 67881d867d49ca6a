"""Conditions that ask the data: processes that see different batches may answer them differently."""

from __future__ import annotations

import re

# Of numbers that a batch gave, or that were computed from it.
ASKS_DATA = re.compile(
    r"isnan|isinf|isfinite|is_nan|is_inf|\.any\(|\.all\(|numel\(|\bnum_pos|\.sum\(|\bloss\w*(?:\.item\(\))?\s*(?:[<>]|!=)|[<>]\s*loss\w*\b"
    r"|(?<![.\w])\w*loss(?:\.item\(\))?\s*==\s*0(?:\.0*)?(?![\w.])"
    r"|\blen\((?:batch|targets?|labels?|boxes|inputs?|x|y)\b|\b(?:batch|targets?|labels?|boxes|inputs?|x|y)(?:\[[^\]]*\])?\.(?:size|shape)"
)
# What makes one answer of all: the processes have talked about it.
AGREED = re.compile(r"all_reduce|all_gather|reduce_\w+\(|\breduce\(|gather\(|broadcast|\bsync\w*\(|join\(|allreduce|any_rank|all_ranks")


def asks_data(test: str) -> bool:
    """Whether the text of a condition asks for something that differs from process to process."""
    return bool(ASKS_DATA.search(test)) and not AGREED.search(test)
