"""403: a GPU is asked for by name, with no way to say otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.effects import CREATES
from torchlint.rules.base import Report, View

CODE = 403
CALLS = frozenset({".to", ".cuda", "torch.device", *(f"torch.{name}" for name in CREATES)})
# Behind a condition that asks for the GPU, the name is right.
ASKED = re.compile(r"cuda|gpu|device", re.IGNORECASE)
CUDA = re.compile(r"""^[rRbB]*(?P<quote>["'])cuda(?::\d+)?(?P=quote)$""")


def check(view: View) -> Iterator[Report]:
    """`model.cuda()`, `x.to("cuda:0")`, `torch.zeros(3, device="cuda")`."""
    for event in view.of("method", "call"):
        if f".{event.name}" not in CALLS and event.name not in CALLS:
            continue
        node = event.site.node
        if not isinstance(node, cst.Call) or any(ASKED.search(site.text()) for site, _ in event.guards):
            continue
        choices = [item.test for item in event.site.parsed.around(event.site.node) if isinstance(item, cst.IfExp)]
        if any(ASKED.search(event.site.parsed.text(test)) for test in choices):
            continue
        if event.kind == "method" and event.name == "cuda":
            literal = all(arg.keyword is not None or isinstance(arg.value, cst.Integer) for arg in node.args)
        else:
            places = [arg for arg in node.args if arg.keyword is not None and arg.keyword.value == "device"]
            first = event.kind == "method" or event.name == "torch.device"
            literal = any(_is_cuda(arg.value) for arg in (places or node.args[:1] if first else places))
        if literal:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})


def _is_cuda(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.SimpleString) and bool(CUDA.match(node.value))
