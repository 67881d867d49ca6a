"""The `trait` form: at an argument of a call, a value must, or must not, have a trait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchlint.catalogue.effects import LOSS_OF_CLASS
from torchlint.dryrun.values import Class, Instance, Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.raw_scores import certainly_raw, untouched_since

ACT_OF_TRAIT = {
    "probabilities": "softmax",
    "log-probabilities": "log_softmax",
    "sigmoid": "sigmoid",
}
# What no activation of that name can be taken for, whatever it was given. A softmax before NLLLoss has a table of its own.
NEVER = {
    "log-probabilities": frozenset({"sigmoid", "relu", "tanh"}),
    "sigmoid": frozenset({"log_softmax", "logsigmoid", "relu", "tanh"}),
}
WORDS = {"softmax": "softmax is applied here", "sigmoid": "sigmoid is applied here", "relu": "relu is applied here", "tanh": "tanh is applied here",
         "log_softmax": "log_softmax is applied here", "logsigmoid": "logsigmoid is applied here"}


def check(view: View, code: int, table: dict[str, Any]) -> Iterator[Report]:
    """The reports of one `trait` table on one run."""
    wanted = {LOSS_OF_CLASS.get(name.rsplit(".", 1)[-1], name.rsplit(".", 1)[-1]) for name in table["call"]}
    act = ACT_OF_TRAIT[table["trait"]]
    for event in view.of("loss"):
        if event.loss not in wanted:
            continue
        alts = real(event.get(table.get("argument", "input")))
        acts = {alt.traits.get("act") if isinstance(alt, Tensor) else None for alt in alts}
        if table["must"] == "not have":
            chosen = alts if acts == {act} else _models_of_several(alts, act)
            if chosen:
                yield report(view, code, event, chosen, act)
        elif acts and acts <= NEVER.get(table["trait"], frozenset()) and all(untouched_since(view, alt) for alt in alts):
            yield report(view, code, event, alts, acts.pop())
        elif alts and all(certainly_raw(view, alt) for alt in alts):
            yield report(view, code, event, alts, None)


def _models_of_several(alts: list[Value], act: str) -> list[Value]:
    """Of the outputs of several models, one of which is chosen, those with an activation; none where one model may be both."""
    having = [alt for alt in alts if isinstance(alt, Tensor) and alt.traits.get("act") == act]
    others = [_models(alt) for alt in alts if alt not in having]
    return having if all(others) and not any(_models(alt) & other for alt in having for other in others) else []


def _models(value: Value) -> set[Value]:
    """The project's own models whose forwards a value comes out of."""
    subjects = {alt for flow in value.flows if flow.kind == "forward" for alt in real(flow.subject)}
    return {alt for alt in subjects if isinstance(alt, Instance) and isinstance(alt.cls, Class)}


def report(view: View, code: int, event, alts, act: str | None) -> Report:
    related = []
    for alt in alts:
        site = alt.sites.get("act") if act else alt.site
        if site is not None and all(site != have for have, _ in related):
            related.append((site, WORDS.get(act or "", "the scores come straight out of this layer")))
    node = event.site.node
    name = event.site.parsed.text(node.func) if isinstance(node, cst.Call) else event.loss
    return Report(code, event.site, {"loss": name if len(name) <= 40 else event.loss, "call": view.call_text(event.site)}, related)
