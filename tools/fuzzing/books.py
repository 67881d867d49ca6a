"""Notebooks: sound ones cut from programs, and ones that are broken in every way that JSON can be."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from random import Random
from typing import Any

from fuzzing.mutate import mutant

MAGICS = (
    "%matplotlib inline", "!pip install torch", "%%time", "%%bash", "%%capture out", "%%writefile x.py", "%time model(x)", "%cd", "x = !ls",
    "x = %sql select 1", "torch.nn?", "??model", "%%timeit -n 3", "!ls \\\n  -l", "%%time\n" * 3000, "%%", "%", "!", "?", "x?" * 500,
    "x" + " " * 20_000 + "y", " " * 20_000 + "?", "?x" + " " * 20_000 + "y", "x = " * 2000 + "!ls", "a." * 5000 + "?",
    "%time" + " " * 5000, "get_ipython().system('ls')", "%%javascript\nlet x = '''", "%load_ext autoreload\n%autoreload 2", "; ls", "/f x",
    "x = (\n!ls\n)", "'''\n%no\n'''", "\\\n" * 500, "[" * 500, "  if x:\n    y", "\tx = 1\n\ty = 2", "await f()", "%%python\nx = 1",
    ",f a b", "!" * 5000, "%" * 5000, "a[" * 3000 + "?", "(" * 5000 + " = !ls", "x, y = %magic", "# comment\n%%time\nx = 1",
)
WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, "", "x", "code", [], [[]], [None], [1, "x"], {}, {"a": {}}, "\ud800", "\0", ["\ud800\n"], "python",
    ["x = 1\n", 2], {"cells": []}, [{}], "julia", 1e308, ["a\r\n", "b\r", "\n"], "\u2028", ["import torch\n", "\ufeffx = 1"],
)


def notebook(rng: Random, blocks: Sequence[str]) -> dict[str, Any]:
    """A notebook whose cells are the parts of some programs, with magics between."""
    cells = []
    for text in rng.sample(blocks, rng.choice((1, 1, 2, 4))):
        if rng.random() < 0.4:
            text = mutant(rng, text, blocks)
        for part in re.split(r"\n\n+(?=\S)" if rng.random() < 0.7 else r"(?<=\n)", text):
            if rng.random() < 0.15:
                magic = rng.choice(MAGICS)
                part = rng.choice((f"{magic}\n{part}", f"{part}\n{magic}", magic))
            cells.append(_cell(rng, part))
    metadata = rng.choice(({}, {"language_info": {"name": "python"}}, {"kernelspec": {"language": "python"}}, {"a": [1] * 50}))
    if rng.random() < 0.1:
        return {"worksheets": [{"cells": cells}], "metadata": metadata, "nbformat": 3}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _cell(rng: Random, text: str) -> dict[str, Any]:
    source: Any = text if rng.random() < 0.3 else text.splitlines(keepends=True)
    if rng.random() < 0.05:
        source = list(text)  # a string for each character
    cell = {"cell_type": rng.choice(("code", "code", "code", "code", "markdown", "raw", "x")), "metadata": {}, "source": source}
    if rng.random() < 0.5:
        cell["outputs"] = rng.choice(([], [{"data": "x" * 100}], [{"text": ["x"] * 30}], [{"data": {"image/png": "A" * 100_000}}]))
    if rng.random() < 0.1:
        cell["input"] = cell.pop("source")
    return cell


def broken(rng: Random, book: Any) -> Any:
    """The notebook with values of wrong types, keys and items lost or doubled."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(book))
        if not places:
            return deepcopy(rng.choice(WRONG))
        holder, key = rng.choice(places)
        kind = rng.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.insert(rng.randrange(len(holder) + 1), holder[key])
        elif kind == 1:
            holder[rng.choice(("source", "cells", "cell_type", "input", "metadata", "language", "x"))] = holder[key]
        else:
            holder[key] = deepcopy(rng.choice(WRONG))  # what is broken next may be in it
    return book


def _places(value: Any):
    keys = range(len(value)) if isinstance(value, list) else list(value) if isinstance(value, dict) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def book_bytes(rng: Random, blocks: Sequence[str], books: Sequence[str]) -> bytes:
    """The content of a notebook file."""
    kind = rng.random()
    if kind < 0.55:
        book = notebook(rng, blocks)
    elif books:
        book = json.loads(rng.choice(books))
    else:
        book = {}
    if rng.random() < 0.4:
        book = broken(rng, book)
    text = json.dumps(book, indent=rng.choice((None, 1, 1, 4)), ensure_ascii=rng.random() < 0.5)
    odd = rng.random()
    if odd < 0.6:
        pass
    elif odd < 0.68:
        text = mutant(rng, text, [text])
    elif odd < 0.72:
        text = text[: rng.randrange(len(text) + 1)]
    elif odd < 0.76:  # keys twice
        text = re.sub(r'"source":', lambda found: '"source": ["x = 1"], "source":' if rng.random() < 0.5 else found[0], text)
    elif odd < 0.79:
        text = re.sub(r'"cell_type":', '"cell_type": "code", "source": "import torch", "cell_type":', text, count=1)
    elif odd < 0.82:
        depth = rng.choice((50, 500, 1000, 10_000, 100_000))
        deep = rng.choice(("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth))
        text = re.sub(r'"metadata": \{\}', f'"metadata": {{"a": {deep}}}', text, count=1) if rng.random() < 0.7 else deep
    elif odd < 0.85:
        text = text.replace('"metadata"', rng.choice(('"\\ud800"', '"metadata\\u0000"', "metadata", "'metadata'")))
    elif odd < 0.88:
        text = re.sub(r"\d+", rng.choice(("NaN", "Infinity", "-0", "1e999", "01", "9" * 5000, "0x1")), text, count=1)
    elif odd < 0.92:
        text = text.replace(": ", rng.choice((":\n\n\t", ":", " : ", ":\ufeff"))).replace(", ", rng.choice((",", ",,", ", , ", ",\r\n")))
    elif odd < 0.94:
        text = rng.choice(("", " ", "null", "[]", "0", '"x"', "{}", "// x\n" + text, text + text, text + "x"))
    elif odd < 0.96:
        text = text.replace("\\n", rng.choice(("\\r\\n", "\\r", "\\u2028", "\\f", "\\u000a", "\\n\\n")))
    raw = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        raw = b"\xef\xbb\xbf" + raw
    if rng.random() < 0.05:
        at = rng.randrange(len(raw) + 1)
        raw = raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :]
    if rng.random() < 0.02:
        raw = text.encode(rng.choice(("utf-16", "utf-32", "utf-7", "cp037")), "replace")
    return raw
