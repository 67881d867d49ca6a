"""Which input comes when: the mixture of all kinds, each input a function of the seed and its number alone."""

from __future__ import annotations

from random import Random

import msgspec

from fuzzing import books, deep, grammar
from fuzzing.mutate import mutant, to_bytes
from fuzzing.seeds import Seeds

# By kind: how many of a thousand inputs.
SHARES = {"mutant of a block": 550, "mutant of a file": 100, "made up": 130, "hypothesmith": 40, "notebook": 150, "deep": 16, "many": 6,
          "long": 2, "bytes": 6}


class Input(msgspec.Struct):
    """A file to be tried. `kind` says how it was made."""

    number: int
    kind: str
    name: str
    raw: bytes


def make(seed: int, number: int, seeds: Seeds, large: bool = True) -> Input:
    """The input of a seed and a number.

    Args:
        seed: what was given as --seed.
        number: which one of the run.
        seeds: what to grow from.
        large: deep, many and long ones, too, which take seconds.
    """
    rng = Random(f"{seed}:{number}")
    shares = {kind: share for kind, share in SHARES.items() if large or kind not in ("deep", "many", "long", "hypothesmith")}
    kind = rng.choices(tuple(shares), tuple(shares.values()))[0]
    name = rng.choice(("x.py", "x.py", "x.py", "train.py", "__init__.py", "x.pyw"))
    if kind == "notebook":
        return Input(number, kind, "x.ipynb", books.book_bytes(rng, seeds.blocks, seeds.books))
    if kind == "bytes":
        raw = rng.randbytes(rng.choice((0, 1, 3, 100, 5000)))
        return Input(number, kind, rng.choice((name, "x.ipynb")), rng.choice((b"", b"import torch\n", b"{")) + raw)
    if kind == "deep":
        return Input(number, kind, name, deep.deep(rng).encode())
    if kind == "many":
        return Input(number, kind, name, deep.many(rng).encode())
    if kind == "long":
        text = deep.long(rng)
        if rng.random() < 0.2:
            book = {"cells": [{"cell_type": "code", "source": text, "outputs": []}, {"cell_type": "code", "source": "%x\n" + text[:200_000]}]}
            return Input(number, kind, "x.ipynb", msgspec.json.encode(book))
        return Input(number, kind, name, text.encode())
    if kind == "made up":
        text = grammar.program(rng)
        if rng.random() < 0.4:
            text = grammar.mixed(rng, text, seeds.blocks)
        text = text if rng.random() < 0.8 else mutant(rng, text, seeds.blocks)
    elif kind == "hypothesmith":
        made = grammar.hypothesmith_programs(seed + number // 20_000) or (grammar.program(rng),)
        text = grammar.mixed(rng, rng.choice(made), seeds.blocks)
    else:
        pool = seeds.blocks if kind == "mutant of a block" else seeds.files
        text = mutant(rng, rng.choice(pool), seeds.blocks)
    return Input(number, kind, name, to_bytes(rng, text))
