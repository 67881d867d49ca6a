"""001: the mark that ends a text is masked out of the labels, because it is the padding, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.catalogue.protocols import PAD_NAMES
from torchlint.dryrun.values import Event, Opaque, real
from torchlint.rules.base import Report, View

CODE = 1
_ID = r"[\w.]*\bpad_token_id\b"
# Labels are masked wherever the padding's id stands.
_MASKS = re.compile(
    rf"==\s*{_ID}\s*\]\s*=\s*-100|==\s*{_ID}\s*,\s*-100|-100\s+if\s+\w+\s*==\s*{_ID}|if\s+\w+\s*!=\s*{_ID}\s+else\s*-100"
    r"|\bDataCollatorForLanguageModeling\s*\((?:[^()]|\([^()]*\))*\bmlm\s*=\s*False"
)
_BY_ROW = re.compile(r"from\s+trl[\w.]*\s+import\s[^\n]*\bDataCollatorForLanguageModeling\b")
# The texts have the mark: it is put behind them, or the tokenizer is told to.
_ENDS = re.compile(
    r"\+\s*[\w.]*\beos_token\b(?!_id)|\{\s*[\w.]*\beos_token\s*\}|\badd_eos_token\s*=\s*True|\+\s*\[\s*[\w.]*\beos_token_id\s*\]"
    r"|\+\s*EOS_TOKEN\b|\.append\(\s*[\w.]*\beos_token_id\s*\)"
)
_OTHER = re.compile(r"""["']pad_token["']\s*:|attention_mask\s*==\s*0|attention_mask\s*!=\s*1""")


def check(view: View) -> Iterator[Report]:
    """`tokenizer.pad_token = tokenizer.eos_token` where labels are masked by the padding's id and texts end with that mark."""
    for event in view.of("pad.set"):
        given = real(event.value)
        own = any(alt.origin is event.subject for alt in given if isinstance(alt, Opaque))
        if not own or not all(isinstance(alt, Opaque) and alt.name == PAD_NAMES[event.name] for alt in given):
            continue
        lines = event.site.parsed.facts.lines
        text = "".join(line.partition("#")[0].rstrip() + "\n" for line in lines)
        masks, ends = _MASKS.search(text), _ENDS.search(text)
        if masks is None or ends is None or _OTHER.search(text) or _BY_ROW.search(text):
            continue
        yield Report(CODE, event.site, {"tokenizer": _owner(event), "row": str(text.count("\n", 0, masks.end()) + 1)})


def _owner(event: Event) -> str:
    """What the program calls the tokenizer."""
    targets = getattr(event.site.node, "targets", None)
    target = targets[0].target if targets else None
    value = getattr(target, "value", None)
    return event.site.parsed.text(value) if value is not None else "tokenizer"
