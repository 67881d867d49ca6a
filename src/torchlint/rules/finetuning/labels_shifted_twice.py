"""002: labels that are moved by one are given to a model that moves them itself."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Site
from torchlint.rules.base import Report, View
from torchlint.rules.shared.causal_models import shifts_labels
from torchlint.rules.shared.token_parts import part_of

CODE = 2


def check(view: View) -> Iterator[Report]:
    """`model(input_ids=ids[:, :-1], labels=ids[:, 1:])`, or `labels=ids.roll(-1, dims=1)`."""
    for event in view.of("forward"):
        call, parsed = event.site.node, event.site.parsed
        if not isinstance(call, cst.Call) or not shifts_labels(event.subject):
            continue
        given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        first = next((arg.value for arg in call.args if arg.keyword is None and not arg.star), None)
        labels, inputs = part_of(parsed, given.get("labels")), part_of(parsed, given.get("input_ids", first))
        if labels is None or inputs is None or labels.tokens != inputs.tokens:
            continue
        if (labels.which, inputs.which) in (("ahead", "but the last"), ("rolled", "all")):
            where = Site(parsed, labels.node)
            yield Report(CODE, event.site, {"model": view.owner_text(event, "model")}, [(where, "the labels are moved here")])
