"""Reads a file as Python text: encodings, byte-order marks, line ends, notebooks."""

from __future__ import annotations

import io
import re
import tokenize

from torchlint.files.limits import too_much
from torchlint.files.source import Problem, Source, SourceError, is_notebook, unify_line_ends

_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=]")


def parse_source(filename: str, raw: bytes) -> Source:
    """The content of a file as Python text; what it is, module or notebook, follows from the name.

    Raises:
        SourceError: it is not text in the encoding it declares, holds NUL bytes, is too large, or is a broken notebook.
    """
    if is_notebook(filename):
        from torchlint.files.notebook import parse_notebook

        source = parse_notebook(filename, raw)
    else:
        source = Source(filename, _decode(filename, raw))
    why = too_much(source.text)
    if why is not None:
        raise SourceError(Problem(filename, why))
    return source


def _decode(filename: str, raw: bytes) -> str:
    """The text of a module (PEP 263), with `\\n` line ends and without a byte-order mark.

    Raises:
        SourceError: it cannot be decoded or holds NUL bytes.
    """
    encoding = "utf-8"
    if raw.startswith(b"\xef\xbb\xbf") or any(_CODING.match(line) for line in raw[:1000].split(b"\n", 2)[:2]):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        except SyntaxError as error:
            raise SourceError(Problem(filename, f"cannot be decoded: {error.msg[:200]}", 1)) from None
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        row = raw.count(b"\n", 0, error.start) + 1
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise SourceError(Problem(filename, "is UTF-16, which Python does not read as source", 1)) from None
        what = f"byte 0x{raw[error.start]:02x} is not {encoding} (declare the encoding, or save it as UTF-8)"
        raise SourceError(Problem(filename, what, row)) from None
    except (LookupError, ValueError) as error:
        raise SourceError(Problem(filename, f"cannot be decoded: {' '.join(str(error).split())[:200]}", 1)) from None
    if "\0" in text:
        row = text.count("\n", 0, text.index("\0")) + 1
        raise SourceError(Problem(filename, "holds a NUL byte; this is not Python source", row))
    return unify_line_ends(text)  # a second mark is an error, as for Python
