"""010: a batch that is padded on the right is given to `generate` of a model that reads from left to right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.values import Event
from torchlint.rules.base import Report, View, once

CODE = 10
_CAUSAL = re.compile(r"ForCausalLM|LMHeadModel")
_OTHER = re.compile(r"Seq2Seq|ConditionalGeneration|EncoderDecoder")
_PADS = re.compile(r"padding\s*=\s*(?:True|[\"'](?:longest|max_length)[\"'])")


def check(view: View) -> Iterator[Report]:
    """`tokenizer.padding_side = "right"`, `tokenizer(prompts, padding=True)`, and `model.generate(**inputs)`."""
    yield from once(_found(view))


def _found(view: View) -> Iterator[Report]:
    for event in view.of("forward", "unknown"):
        node = event.site.node if event.site is not None else None
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value != "generate":
            continue
        text = "".join(event.site.parsed.facts.lines)
        if _pads_on_the_right(text) and _CAUSAL.search(text) and not _OTHER.search(text) and _is_padded(event, node):
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})


def _pads_on_the_right(text: str) -> bool:
    """Whether a file says so, and nothing else."""
    return set(re.findall(r"padding_side\s*=\s*[\"'](\w+)[\"']", text)) == {"right"}


def _is_padded(event: Event, call: cst.Call) -> bool:
    """Whether what is given was tokenized with padding, by the last assignment before the call."""
    parsed = event.site.parsed
    names = {found[1] for arg in call.args if (found := re.match(r"(\w+)", parsed.text(arg.value)))}
    row, last = event.site.location().row, None
    todo: list[cst.CSTNode] = list(parsed.body)
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name) and node.targets[0].target.value in names:
            at = parsed.location(node).row
            if at <= row and (last is None or at > last[0]):
                last = at, node
        todo.extend(node.children)
    return last is not None and _PADS.search(parsed.text(last[1].value)) is not None
