"""131: a generator of parameters is gone through twice."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Iter, Value
from torchlint.rules.base import Report, View

CODE = 131


def check(view: View) -> Iterator[Report]:
    """`params = model.parameters()` given to two takers."""
    takers: dict[int, set[int]] = {}  # with a single one, nothing need be followed through the run
    for event in view.of("consume"):
        takers.setdefault(id(event.subject), set()).add(id(event.site.node))
    for event in view.of("consume"):
        made = event.subject
        if len(takers[id(made)]) == 1 or not _of_parameters(made):
            continue
        found, _ = after(event, lambda other, made=made: other.kind in ("consume", "iter.create") and other.subject is made)
        for second in found:
            if second.kind == "consume" and second.site.node is not event.site.node:
                name, call = made.name or "parameters", view.call_text(second.site)
                roles = {"name": name, "call": "the loop here" if call == name else call}
                yield Report(CODE, second.site, roles, [(event.site, "the first use takes all of it")])


def _of_parameters(value: Value) -> bool:
    while isinstance(value, Iter):
        if value.kind in ("parameters", "named_parameters"):
            return True
        if value.kind not in ("filter", "same"):
            return False
        value = value.base
    return False
