"""Mutations of program text: tokens and lines lost, doubled and swapped, odd characters, encodings and line ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

TOKEN = re.compile(r"\s+|\w+|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\*\*|//|->|:=|[=!<>+\-*/%&|^@]=|.", re.DOTALL)
ODD_TOKENS = (
    "lambda", "async", "await", "yield", "match", "case", "_", "del", "global x", "nonlocal x", "return", "raise",
    "self", "super()", "...", "None", "True", "not", "in", "is", "*", "**", "@", ":=", "->", ";", "\\\n", "\\", "if 1:",
    "else:", "(", ")", "[", "]", "{", "}", ",", ":", "=", "'''", '"""', 'f"{x!r:>{w}}"', 'f"{f\'{x}\'}"', "b'\\xff'",
    "9" * 5000, "10**10**10", "1<<99999999999", "-1", "1e999", "0xFFFFFFFFFFFFFFFFFFFFFF", "1_000_000_000_000", "3j", "0",
    "range(10**12)", "'a'*10**12", "[0]*10**12", "(0,)*10**12", "float('nan')", "2**-1", "1//0", "1%0", "x[::-1]", "x[...]",
    "'%s' % x", "ⅷ", "ﬁt", "变量", "é", "𝐱", "# noqa", "# noqa: TL", "# torchlint: noqa", "# type: ignore", "#", "torch",
    "torch.nn", "optimizer", "loss", "model", "backward", "step", "zero_grad()", "forward", "__init__", "__call__",
)
ODD_CHARACTERS = (
    "\f", "\t", "\v", "\0", "\r", "\r\n", "\n", "\ufeff", "\u2028", "\u2029", "\x85", "\xa0", "\u200b", "\u202e", "\x1a",
    "\x1b[31m", "\x7f", "😀", "é", "e\u0301", "\ud800", "\udfff", "\uffff", "\U0010ffff", "\\", "$", "?", "!", "`",
)
CODECS = (
    "utf-8", "latin-1", "cp1252", "ascii", "utf-16", "utf-16-le", "utf-32", "utf-7", "utf-8-sig", "koi8-r", "shift_jis",
    "gb18030", "big5", "iso2022_jp", "cp037", "mac-roman", "hz", "rot13", "hex", "base64", "zlib", "bz2", "idna",
    "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "mbcs", "charmap", "klingon", "", "\0", "utf-8\0",
    "x" * 5000, "utf_8", "UTF8", "utf-8-unix", "latin-1-unix", "..", "../../etc", "encodings.utf_8", "os", "palmos",
)
COOKIES = ("# coding: {}", "# -*- coding: {} -*-", "#!/usr/bin/python\n# vim: set fileencoding={} :", "\f# coding={}")


def mutant(rng: Random, text: str, others: Sequence[str]) -> str:
    """The text after one to a few mutations; `others` are texts that pieces may come from."""
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 6))):
        text = rng.choice(_MUTATIONS)(rng, text, others)
    return text


def _tokens(rng: Random, text: str, others: Sequence[str]) -> str:
    """Loses, doubles, swaps or replaces some tokens."""
    tokens = TOKEN.findall(text)
    solid = [at for at, token in enumerate(tokens) if not token.isspace()]
    if not solid:
        return text
    for _ in range(rng.choice((1, 1, 2, 4))):
        at, other = rng.choice(solid), rng.choice(solid)
        kind = rng.randrange(5)
        if kind == 0:
            tokens[at] = ""
        elif kind == 1:
            tokens[at] += rng.choice(("", " ")) + tokens[at]
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = tokens[other]
        else:
            tokens[at] = rng.choice(ODD_TOKENS)
    return "".join(tokens)


def _one_name_for_another(rng: Random, text: str, others: Sequence[str]) -> str:
    """Two names change places everywhere, or one becomes another: wrong programs that still parse."""
    names = sorted(set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", text)))
    attributes = sorted(set(re.findall(r"(?<=\.)[A-Za-z_]\w*", text)))
    pool = attributes if attributes and rng.random() < 0.5 else names
    if len(pool) < 2:
        return text
    one, other = rng.sample(pool, 2)
    return re.sub(rf"\b{one}\b", other, text, count=rng.choice((0, 1, 2)))


def _lines(rng: Random, text: str, others: Sequence[str]) -> str:
    """Loses, doubles, swaps, indents or moves lines."""
    lines = text.split("\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines[at:at] = lines[at : at + rng.choice((1, 3, 10))]
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines[at] = rng.choice((" ", "    ", "\t", "\f", "        ")) + lines[at]
    elif kind == 4:
        lines[at] = lines[at][rng.choice((1, 2, 4)):] if lines[at][:1].isspace() else lines[at]
    elif kind == 5:
        lines.insert(other, lines.pop(at))
    else:
        more = rng.choice(others).split("\n")
        start = rng.randrange(len(more))
        lines[at:at] = more[start : start + rng.choice((1, 2, 5, 20))]
    return "\n".join(lines)


def _cut(rng: Random, text: str, others: Sequence[str]) -> str:
    """The file ends early, or a stretch in it is missing."""
    first, last = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
    return text[:last] if rng.random() < 0.5 else text[:first] + text[min(last, first + 300):]


def _blocks(rng: Random, text: str, others: Sequence[str]) -> str:
    """A stretch of lines goes into a block of its own, deeper by four."""
    lines = text.split("\n")
    first = rng.randrange(len(lines))
    last = min(len(lines), first + rng.choice((1, 2, 4, 12)))
    indent = re.match(r"\s*", lines[first])[0]
    head = rng.choice((
        "if x:", "while True:", "for x in y:", "with torch.no_grad():", "with x as y:", "try:", "class A:", "def f(self):",
        "async def f(*a, **k):", "match x:", "for _ in range(3):", "if True: pass\n" + indent + "else:", "lambda: 0", "if 0:",
        "@torch.no_grad()\n" + indent + "def g(x, y=lambda: 0):", "while x := f():", "class A(torch.nn.Module):",
    ))
    body = ["    " + line for line in lines[first:last]]
    tail = [indent + "finally:", indent + "    pass"] if head == "try:" else []
    return "\n".join(lines[:first] + [indent + head] + body + tail + lines[last:])


def _characters(rng: Random, text: str, others: Sequence[str]) -> str:
    """Puts characters in that hardly anybody expects there."""
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.choice((0, len(text), rng.randrange(len(text) + 1)))
        text = text[:at] + rng.choice(ODD_CHARACTERS) + text[at:]
    return text


def _tabs(rng: Random, text: str, others: Sequence[str]) -> str:
    width = rng.choice((4, 8, 2))
    return re.sub(r"(?m)^ +", lambda found: "\t" * (len(found[0]) // width) + " " * (len(found[0]) % width), text)


def _comments(rng: Random, text: str, others: Sequence[str]) -> str:
    """Comments, some of them ours, behind lines or on lines of their own."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 3))):
        at = rng.randrange(len(lines))
        comment = rng.choice((
            "# noqa", "# noqa: TL101", "# noqa: TL" + "1" * 50, "# noqa:" + " A1" * 40, "#noqa:TL,,,TL1", "# torchlint: noqa: TL1",
            "# type: ignore[x]", "# noqa: " + "a-" * 60 + "a", "# -*- coding: ascii -*-", "#", "# \ud800", "#\f", "# fmt: off",
        ))
        lines[at] += "  " + comment
    return "\n".join(lines)


def _joined(rng: Random, text: str, others: Sequence[str]) -> str:
    """Another program before or behind, or its first half."""
    other = rng.choice(others)
    return rng.choice((text + "\n" + other, other + "\n" + text, other[: len(other) // 2] + text))


_MUTATIONS: tuple[Callable[[Random, str, Sequence[str]], str], ...] = (
    _tokens, _tokens, _tokens, _one_name_for_another, _one_name_for_another, _lines, _lines, _lines, _cut, _blocks, _blocks,
    _characters, _tabs, _comments, _joined,
)


def to_bytes(rng: Random, text: str) -> bytes:
    """The text as a file: mostly UTF-8, else in other encodings, with line ends, marks and cookies that fit or do not."""
    kind = rng.random()
    if kind < 0.6:
        return text.encode("utf-8", "surrogatepass")
    if kind < 0.7:
        ends = rng.choice(("\r\n", "\r", "\n\r", "\r\r\n"))
        return text.replace("\n", ends).encode("utf-8", "replace")
    if kind < 0.74:
        mixed = re.sub("\n", lambda _: rng.choice(("\n", "\r\n", "\r")), text)
        return mixed.encode("utf-8", "replace")
    if kind < 0.78:
        return b"\xef\xbb\xbf" * rng.choice((1, 1, 2)) + text.encode("utf-8", "replace")
    if kind < 0.9:
        codec, written = rng.choice(CODECS), rng.choice(CODECS)
        text = rng.choice(COOKIES).format(codec) + rng.choice(("\n", "\n", "\r", "\r\n", "")) + text
        try:
            return text.encode(codec if rng.random() < 0.7 else written, "replace")
        except (LookupError, ValueError, TypeError, AssertionError):
            return text.encode("latin-1", "replace")
    raw = bytearray(text.encode("utf-8", "replace"))
    for _ in range(rng.choice((1, 1, 2, 10, 100))):
        at = rng.randrange(len(raw) + 1)
        raw[at : at + rng.randrange(2)] = bytes([rng.randrange(256)])
    return bytes(raw)
