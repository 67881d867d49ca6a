"""Marks that are written as a share of the number of epochs: `milestones=[epochs // 2, int(epochs * 0.75)]`."""

from __future__ import annotations

import re

import libcst as cst

from torchlint.dryrun.source_text import Parsed, unit_text
from torchlint.dryrun.values import Seq, Value, real
from torchlint.rules.base import View

_ARITHMETIC = re.compile(r"(?:\b(?:int|round|float|math\.floor|math\.ceil)\b|\bEPOCHS\b|\d+(?:\.\d*)?|\.\d+|[\s()*/+-])+")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w.(\[])")
_MANY_TIMES = re.compile(r"\*\s*\d{2,}|\b\d{2,}\s*\*")  # epochs * 500 may be a number of batches


def are_shares(view: View, parsed: Parsed, written: cst.BaseExpression, given: Value | None, epochs: str) -> bool:
    """Whether what a schedule was given is numbers of epochs, as it is written: plain arithmetic on what `epochs` says."""
    alts = real(given)
    made = alts[0].site if len(alts) == 1 and isinstance(alts[0], Seq) else None
    if made is not None and isinstance(made.node, cst.List) and view.run.store.get(alts[0], "[]") is not None:
        parsed, written = made.parsed, made.node
    parts = [one.value for one in written.elements] if isinstance(written, cst.List) else [written]
    return bool(parts) and all(_in_epochs(parsed, parsed.text(part), epochs) for part in parts)


def _in_epochs(parsed: Parsed, text: str, epochs: str) -> bool:
    plain = re.sub(rf"(?<![\w.]){re.escape(epochs)}(?![\w.(\[])", "EPOCHS", _spelled_out(parsed, text, epochs))
    return "EPOCHS" in plain and _ARITHMETIC.fullmatch(plain) is not None and _MANY_TIMES.search(plain) is None


def _spelled_out(parsed: Parsed, text: str, epochs: str, depth: int = 0) -> str:
    """A text with what the function calls by a name that it sets once: `base * 6`, where `base = epochs // 8`."""

    def meant(found: re.Match) -> str:
        name = found[0]
        if name == epochs or depth > 2:
            return name
        set_to = re.findall(rf"(?m)^[ \t]*{name}[ \t]*=(?!=)[ \t]*([^\n#]+?)[ \t]*(?:#.*)?$", unit_text(parsed.facts, parsed.unit))
        changed = re.search(rf"(?m)^[ \t]*{name}[ \t]*[-+*/]+=", unit_text(parsed.facts, parsed.unit))
        return f"({_spelled_out(parsed, set_to[0], epochs, depth + 1)})" if len(set_to) == 1 and changed is None else name

    return _NAME.sub(meant, text)
