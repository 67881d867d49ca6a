"""Outputs of several models, of which a program chooses one: what is wrong with one of them is wrong where that one is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.dryrun.values import Class, Event, Instance, Value, real


def of_some_models(wrong: Sequence[Value], alts: Sequence[Value]) -> list[Value]:
    """The values that are wrong, where that is all, or the others are outputs of other models; none where one model may give both."""
    others = [_models(alt) for alt in alts if alt not in wrong]
    if not all(others) or any(_models(alt) & other for alt in wrong for other in others):
        return []
    return list(wrong)


def goes_with_each(event: Event) -> bool:
    """Whether a loss is the same one whatever was chosen: one that a condition chooses may go with the model that another chooses."""
    return not any(isinstance(alt, Instance) and alt.under for alt in real(event.subject)) and not event.guards


def _models(value: Value) -> set[Value]:
    """The project's own models whose forwards a value comes out of."""
    subjects = {alt for flow in value.flows if flow.kind == "forward" for alt in real(flow.subject)}
    return {alt for alt in subjects if isinstance(alt, Instance) and isinstance(alt.cls, Class)}
