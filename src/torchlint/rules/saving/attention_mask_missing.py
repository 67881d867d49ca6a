"""944: a padded batch goes to the model without its attention mask."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Opaque, Value, real
from torchlint.rules.base import Report, View

CODE = 944
_PADS = re.compile(r"""padding\s*=\s*(?:True|["'](?:longest|max_length)["'])|pad_to_max_length\s*=\s*True""")

# Models that were trained with a mask.
_READERS = re.compile(r"transformers\.(?:AutoModel|Bert|Roberta|DistilBert|Electra|Deberta|XLMRoberta|GPT2)\w*(?:\.|$)")
_TOKENIZER = re.compile(r"^transformers\.\w*(?:Tokenizer|TokenizerFast)\.from_pretrained$")


def check(view: View) -> Iterator[Report]:
    """`encoded = tokenizer(texts, padding=True)`, then `model(encoded["input_ids"])`."""
    for event in view.of("forward", "unknown"):
        node = event.site.node if event.site is not None else None
        if not isinstance(node, cst.Call) or not _asks(event, node) or "mask" in event.site.text() or _spread(node):
            continue
        named = event.get("kwargs") or {}
        for value in (*event.get("args", ()), *(named[name] for name in ("input_ids", "inputs") if name in named)):
            made = _padded(value)
            if made is not None:
                words = "padding is added here"
                yield Report(CODE, event.site, {"call": view.owner_text(event, "model")}, [(made.site, words)])
                break


def _asks(event, node: cst.Call) -> bool:
    """Whether a call is one of a language model: transformers' own, or its generate."""
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "generate":
        return True
    if event.kind != "forward" or not _READERS.match(getattr(event.subject, "type", "") or ""):
        return False
    # image models were trained on text with its padding, and have to be given it
    return "diffusers" not in event.site.parsed.facts.imports and not any(
        "diffusers" in name for name in event.site.parsed.facts.imports.values()
    )


def _spread(node: cst.Call) -> bool:
    return any(arg.star for arg in node.args)


def _padded(value: Value) -> Opaque | None:
    """The tokenizer's output that a batch of input_ids was read from, if it was padded."""
    alts = real(value)
    alt = alts[0] if len(alts) == 1 else None
    seen_ids = False
    for _ in range(5):
        if not isinstance(alt, Opaque):
            return None
        if alt.name == "input_ids":
            seen_ids = True
        node = alt.site.node if alt.site is not None else None
        if isinstance(node, cst.Subscript) and "input_ids" in alt.site.text():
            seen_ids = True
        if seen_ids and isinstance(node, cst.Call) and _PADS.search(alt.site.text()) and _tokenizes(alt, node):
            return alt
        alt = alt.origin
    return None


def _tokenizes(alt: Opaque, node: cst.Call) -> bool:
    """Whether a call is one of a tokenizer, by what it is called or by where it comes from."""
    owner = alt.origin.name if isinstance(alt.origin, Opaque) else ""
    return "okeniz" in alt.site.parsed.text(node.func) or any(_TOKENIZER.match(name) for name in (alt.name, owner))
