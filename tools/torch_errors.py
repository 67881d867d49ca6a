"""The errors of torch that user code can cause: lists their messages, and says which of our families each belongs to.

    python tools/torch_errors.py                  how many messages there are, by area, and how many have a family
    python tools/torch_errors.py --rest AREA      those of an area that have none
    python tools/torch_errors.py --write          docs/errors.md, from the families
    python tools/torch_errors.py --unfound        families whose words the installed torch does not have

Messages are read, not provoked: those of Python from the syntax trees of the installed package (`raise`, `assert`,
`torch._check`), those of ATen and its neighbours from the text in the libraries, where `TORCH_CHECK` leaves it.
"""

from __future__ import annotations

import argparse
import ast
import mmap
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from torchsan.errors.family import Family  # noqa: E402
from torchsan.errors.known import SUBJECTS  # noqa: E402
from torchsan.report.mends import MENDS  # noqa: E402

DOCUMENT = ROOT / "docs" / "errors.md"
PACKAGE = Path(torch.__file__).parent
# What a training loop calls; the rest of the package (compiler, export, quantisation, tests) speaks to other people.
AREAS = (
    "_tensor.py", "amp", "autograd", "cuda", "distributed/distributed_c10d.py", "distributed/rendezvous.py", "distributions",
    "functional.py", "nn/functional.py", "nn/init.py", "nn/modules", "nn/parallel", "nn/parameter.py", "nn/utils", "optim",
    "random.py", "serialization.py", "utils/checkpoint.py", "utils/data",
)
LIBRARIES = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so")
_TEXT = re.compile(rb"[\x20-\x7e]{14,400}")
# Words of a message that refuses something; other text in the libraries is documentation, code and names.
_REFUSES = re.compile(
    r"\b(expected|must|should|cannot|can't|mismatch|out of (range|bounds)|but got|unsupported|not supported|not implemented|"
    r"invalid|requires?|only supports?|does(n't| not)|is not|are not|at least|at most)\b", re.IGNORECASE,
)
_FOREIGN = re.compile(
    r"jit|torchscript|onnx|vulkan|xnnpack|qnnpack|quantiz|nnapi|caffe2|lazy|static runtime|tensorexpr|nvfuser|flatbuffer|mobile|kineto|"
    r"schema|bytecode|operator registration|interned|alias analysis|nested tensor|sparse_?cs|mkldnn|dnnl|fbgemm|gemm|[<>{}]|::|https?:", re.IGNORECASE,
)
_SHORT = 9  # characters: a piece of a pattern that is shorter tells no message


class Message(NamedTuple):
    """Words of torch's, with `…` for what it fills in, and where they stand."""

    text: str
    area: str


def of_python() -> Iterator[Message]:
    """The messages of torch's Python sources."""
    for area in AREAS:
        place = PACKAGE / area
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for text in _texts(node):
                    yield Message(text, area)


def _texts(node: ast.AST) -> Iterator[str]:
    parts: list[ast.AST] = []
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        parts = list(node.exc.args[:1])
    elif isinstance(node, ast.Assert) and node.msg is not None:
        parts = [node.msg]
    elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("torch._check") and len(node.args) > 1:
        parts = [getattr(node.args[1], "body", node.args[1])]
    for part in parts:
        text = " ".join(_written(part).split())
        if len(text.replace("…", "")) >= _SHORT:
            yield text


def _written(node: ast.AST) -> str:
    """A message with `…` for what is filled in."""
    if isinstance(node, ast.Constant):
        return re.sub(r"%[srdf]|\{[^}]*\}", "…", node.value) if isinstance(node.value, str) else "…"
    if isinstance(node, ast.JoinedStr):
        return "".join(_written(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _written(node.left) + (_written(node.right) if isinstance(node.op, ast.Add) else "")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _written(node.func.value)
    return "…"


def of_libraries() -> Iterator[Message]:
    """The messages of torch's libraries, in pieces, as they stand there."""
    for name in LIBRARIES:
        with (PACKAGE / "lib" / name).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for found in _TEXT.finditer(data):
                text = found[0].decode("ascii").strip()
                if text.count(" ") >= 2 and _REFUSES.search(text) and not _FOREIGN.search(text):
                    yield Message(text, name)


def pieces(family: Family) -> list[str]:
    """The literal pieces of a family's words, longest first."""
    found: list[str] = []

    def walk(parsed: object) -> None:
        run = ""
        for code, value in parsed:  # type: ignore[attr-defined]
            name = str(code)
            if name == "LITERAL":
                run += chr(value)
                continue
            found.append(run)
            run = ""
            if name == "SUBPATTERN":
                walk(value[3])
            elif name == "BRANCH":
                for branch in value[1]:
                    walk(branch)
            elif name in ("MAX_REPEAT", "MIN_REPEAT"):
                walk(value[2])
        found.append(run)

    walk(_parse(family.words))
    return sorted({" ".join(run.split()) for run in found if len(run.strip()) >= _SHORT}, key=len, reverse=True)


def _parse(words: str) -> object:
    from re import _parser  # type: ignore[attr-defined]  # Python 3.11 and later

    return _parser.parse(words)


def family_of(message: Message, known: list[tuple[Family, list[str]]]) -> Family | None:
    """The family that a message belongs to: one whose longest piece it has, or that has all of its words."""
    for family, parts in known:
        if parts and (parts[0] in message.text or any(part in message.text for part in parts if len(part) > 20)):
            return family
        if any(message.text in part for part in parts):
            return family
    return None


def readable(words: str) -> str:
    """A regular expression as people read it: what is filled in is `…`, of several forms the first counts."""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[1])
        return f"\x00{len(kept) - 1}\x01"

    text = re.sub(r"\\s[+*?]?", " ", words)
    text = re.sub(r"\\([^wdSs])", keep, text)
    text = re.sub(r"\[[^\]]*\]", "\\\\w", text)
    text = re.sub(r"\(\?P<\w+>|\(\?:", "(", re.sub(r"\(\?<?[=!][^)]*\)", "", text))
    text = re.sub(r"(\\[wSd]|\.)([*+]|\{\d*,?\d*\})?\??", "…", text)
    while (inner := re.search(r"\(([^()]*)\)([?*+]?)", text)) is not None:
        first = "" if inner[2] else inner[1].split("|")[0]
        text = text[: inner.start()] + first + text[inner.end():]
    text = re.sub(r"[\^$?+*]", "", text.split("|")[0])
    text = re.sub("\x00(\\d+)\x01", lambda found: kept[int(found[1])], text)
    return re.sub(r"…(-?\s*…)+", "…", text).strip("… ") or "…"


def document() -> str:
    """docs/errors.md."""
    lines = [_HEAD.rstrip(), ""]
    for subject, families in SUBJECTS.items():
        lines += [f"## {subject.capitalize()}", "", "| torch says | what it is | mend |", "|---|---|---|"]
        for family in families:
            name, what, mend = ("", family.what, family.mend)
            if family.number is not None:
                name, what, mend = f"TS{family.number:03d}: ", what or MENDS[family.number][1], mend or MENDS[family.number][2]
            lines.append(f"| {_cell(readable(family.words))} | {name}{_cell(what)} | {_cell(mend)} |")
        lines.append("")
    return "\n".join([*lines, _TAIL.strip(), ""])


def _cell(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}").replace("|", "\\|")


_HEAD = """# Errors of torch, and what is said of them

Written by `python tools/torch_errors.py --write` from `src/torchsan/errors/families`; a test holds the two together. When an error
of torch leaves a watch, torchsan puts a note on it: what it is, the user's line, the module that was running, the operands with
their shapes, types and devices and where they were made, what is known in numbers, and the mend. The error itself stays as it is.

Each row is a family: errors that are one mistake of the user's, by the words that torch has for them (`…` is what torch fills in;
of several wordings the first is shown). Mends are the general ones. Where the operands tell more, the note says it in their names:
`q @ k.transpose(-2, -1)`, `labels.squeeze(1)`. A row with a number is also a finding, with its page.
`tests/torchsan/errors/provoked` provokes most of them and says word for word what the note holds."""
_TAIL = """
## Told elsewhere

Python's own errors that a training step leads to are told by the line that they come from (`checks/raised/from_lines.py`): `.grad`
that is None because the tensor is no leaf (TS116, TS123), LBFGS without its closure (TS126), `backward` of a number or a tuple
(TS128), an iterator of parameters that was used up (TS131), gradients of a custom function (TS137), binary cross-entropy under
autocast (TS709), `unscale_` called twice (TS712).

## Without a note

| error | why |
|---|---|
| `FileNotFoundError` of `torch.load` | Python names the path. |
| An exception of the user's own that a worker of a DataLoader raised | torch hands its traceback on, which names the line. |
| `AttributeError` of a list or a number (`'list' object has no attribute 'sum'`) | Python's words name both; nothing of torch's took part. |
| `NameError`, `'int' object is not callable` and the like | the same. |
| A `raise` of the user's that sounds like torch's | whoever wrote it knows more. |
| Errors of torch.compile's own stages, torch.jit, torch.export, quantisation, RPC | they are long and tell the line; a note would repeat them. |
"""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rest", metavar="AREA", help="messages of an area (a path below torch/, or a library) without a family")
    parser.add_argument("--write", action="store_true", help="write docs/errors.md")
    parser.add_argument("--unfound", action="store_true", help="families that no message of the installed torch belongs to")
    given = parser.parse_args()
    if given.write:
        DOCUMENT.write_text(document(), encoding="utf-8")
        return
    known = [(family, pieces(family)) for families in SUBJECTS.values() for family in families]
    messages = list(dict.fromkeys([*of_python(), *of_libraries()]))
    rows: dict[str, list[tuple[Message, Family | None]]] = {}
    met = set()
    for message in messages:
        family = family_of(message, known)
        met.add(id(family))
        rows.setdefault(message.area, []).append((message, family))
    if given.rest:
        print(*sorted(message.text for message, family in rows.get(given.rest, []) if family is None), sep="\n")
    elif given.unfound:
        print(*(f"{family.name or family.number}: {family.words}" for family, _ in known if id(family) not in met), sep="\n")
    else:
        for area, found in rows.items():
            print(f"{area}: {len(found)} messages, {sum(family is not None for _, family in found)} with a family")
        print(f"{len(known)} families of {len({family.name or family.number for family, _ in known})} names")


if __name__ == "__main__":
    main()
