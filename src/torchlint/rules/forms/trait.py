"""The `trait` form: at an argument of a call, a value must, or must not, have a trait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import libcst as cst

from torchlint.catalogue.effects import LOSS_OF_CLASS
from torchlint.dryrun.values import Tensor, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.raw_scores import certainly_raw, untouched_since
from torchlint.rules.shared.several_models import goes_with_each, of_some_models

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
        if table["must"] == "not have":
            wrong = [alt for alt in alts if _act(alt) == act]
            chosen = of_some_models(wrong, alts)
        else:
            never = NEVER.get(table["trait"], frozenset())
            wrong = [alt for alt in alts if _act(alt) in never and untouched_since(view, alt) or certainly_raw(view, alt)]
            chosen = of_some_models(wrong, alts) if len(wrong) == len(alts) or goes_with_each(event) else []
        if chosen:
            acts = {_act(alt) for alt in chosen}
            yield report(view, code, event, chosen, acts.pop() if len(acts) == 1 else None)


def _act(value: Value) -> str | None:
    return value.traits.get("act") if isinstance(value, Tensor) else None


def report(view: View, code: int, event, alts, act: str | None) -> Report:
    related = []
    for alt in alts:
        site = alt.sites.get("act") if act else alt.site
        if site is not None and all(site != have for have, _ in related):
            related.append((site, WORDS.get(act or "", "the scores come straight out of this layer")))
    node = event.site.node
    name = event.site.parsed.text(node.func) if isinstance(node, cst.Call) else event.loss
    return Report(code, event.site, {"loss": name if len(name) <= 40 else event.loss, "call": view.call_text(event.site)}, related)
