"""315: the labels of a language model are the tokens that its tokenizer has padded, and nothing masks the padding."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.rules.base import Report, View, once
from torchlint.rules.shared.causal_models import shifts_labels
from torchlint.rules.shared.token_parts import part_of

CODE = 315
_PADS = re.compile(r"\bpadding\s*=\s*(?:True|[\"'](?:longest|max_length)[\"'])|\bpad_to_max_length\s*=\s*True|\btokenizer\.pad\(|\bpad_sequence\(")
# What says that padding is masked somewhere, that there is none, or that somebody has thought of it.
_MASKED = re.compile(r"-\s*100\b|ignore_index|ignore_id|label_pad|masked_fill|DataCollator|loss_mask|torch\.where|\bpacking\b|\bbatch_size\s*=\s*1\b", re.IGNORECASE)
_QUOTES = str.maketrans({"'": '"'})


def check(view: View) -> Iterator[Report]:
    """`batch = tokenizer(texts, padding=True)` and `model(**batch, labels=batch["input_ids"])`."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    trained = {forward for event in view.of("backward") if event.subject is not None for forward in event.subject.flows}
    for event in view.of("forward"):
        call, parsed = event.site.node, event.site.parsed
        if not isinstance(call, cst.Call) or event not in trained or not event.get("grad", True) or not shifts_labels(event.subject):
            continue
        given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        labels, tokens = part_of(parsed, given.get("labels")), _tokens(parsed, call, given)
        if labels is None or labels.which != "all" or labels.tokens.translate(_QUOTES) != tokens:
            continue
        text = "".join(line.partition("#")[0].rstrip() + "\n" for line in parsed.facts.lines)
        pads = _PADS.search(text)
        if pads is None or _MASKED.search(text):
            continue
        roles = {"model": view.owner_text(event, "model"), "row": str(text.count("\n", 0, pads.start()) + 1)}
        message = (
            "`{model}` is given its tokens as labels, and line {row} pads them: every padding token counts for the loss",
            "mask the labels where there is padding: `labels = input_ids.masked_fill(attention_mask == 0, -100)`",
        )
        yield Report(CODE, Site(parsed, given["labels"]), roles, words=message)


def _tokens(parsed: Parsed, call: cst.Call, given: dict[str, cst.BaseExpression]) -> str:
    """The tokens that a model is given, as they are written: `ids`, or `batch["input_ids"]` where it is given `**batch`."""
    node = given.get("input_ids") or next((arg.value for arg in call.args if arg.keyword is None and not arg.star), None)
    if node is not None:
        part = part_of(parsed, node)
        return part.tokens.translate(_QUOTES) if part is not None and part.which == "all" else ""
    stars = [arg.value for arg in call.args if arg.star == "**"]
    return f'{parsed.text(stars[0])}["input_ids"]' if len(stars) == 1 and isinstance(stars[0], cst.Name) else ""
