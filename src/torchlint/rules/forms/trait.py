"""The `trait` form: at an argument of a call, a value must, or must not, have a trait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchlint.catalogue.effects import LOSS_OF_CLASS
from torchlint.dryrun.values import Instance, Ref, Tensor, Value, real
from torchlint.rules.base import Report, View

ACT_OF_TRAIT = {
    "probabilities": "softmax",
    "log-probabilities": "log_softmax",
    "sigmoid": "sigmoid",
}
WORDS = {"softmax": "softmax is applied here", "sigmoid": "sigmoid is applied here", "relu": "relu is applied here"}


def check(view: View, code: int, table: dict[str, Any]) -> Iterator[Report]:
    """The reports of one `trait` table on one run."""
    wanted = {LOSS_OF_CLASS.get(name.rsplit(".", 1)[-1], name.rsplit(".", 1)[-1]) for name in table["call"]}
    act = ACT_OF_TRAIT[table["trait"]]
    for event in view.of("loss"):
        if event.loss not in wanted:
            continue
        alts = real(event.get(table.get("argument", "input")))
        if not alts or not all(isinstance(alt, Tensor) for alt in alts):
            continue
        if table["must"] == "not have":
            if not all(alt.traits.get("act") == act for alt in alts):
                continue
        elif not all(certainly_raw(alt) for alt in alts):
            continue
        yield report(view, code, event, alts, act if table["must"] == "not have" else None)


def certainly_raw(value: Value) -> bool:
    """Whether a tensor is certainly the direct output of a layer that ends in no activation."""
    if not isinstance(value, Tensor) or "act" in value.traits:
        return False
    while isinstance(value, Tensor) and value.source == "output" and isinstance(value.origin, Tensor):
        value = value.origin
    maker = value.origin
    return isinstance(maker, Instance) and isinstance(maker.cls, Ref) and maker.type in ("torch.nn.Linear", "torch.nn.Conv2d")


def report(view: View, code: int, event, alts, act: str | None) -> Report:
    related = []
    for alt in alts:
        site = alt.sites.get("act") if act else alt.site
        if site is not None and all(site != have for have, _ in related):
            related.append((site, WORDS.get(act or "", "the scores come straight out of this layer")))
    node = event.site.node
    name = event.site.parsed.text(node.func) if isinstance(node, cst.Call) else event.loss
    return Report(code, event.site, {"loss": name if len(name) <= 40 else event.loss, "call": view.call_text(event.site)}, related)
