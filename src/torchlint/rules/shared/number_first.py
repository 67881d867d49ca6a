"""Sums of tensors that are given their factors by position: `p.add_(-lr, p.grad)`, `dist.addmm_(1, -2, x, x.t())`, `torch.add(a, 2, b)`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.catalogue.apis import NUMBER_AMONG, NUMBER_FIRST
from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, Instance, Seq
from torchlint.rules.base import View
from torchlint.rules.shared.written_names import second_choice


def numbers_first(view: View) -> Iterator[tuple[Site, str, str]]:
    """The calls, as they are written and as they are to be written."""
    if not view.admits((1, 5)):
        return
    told = set()
    for event in view.of("method", "call"):
        if not isinstance(event.site.node, cst.Call) or event.site in told:
            continue
        as_now = _method(event) if event.kind == "method" else _function(event)
        if as_now is not None and not second_choice(event.site):
            told.add(event.site)
            yield event.site, *as_now


def _method(event: Event) -> tuple[str, str] | None:
    words = NUMBER_FIRST.get(event.name, {}).get(len(event.site.node.args))
    given = _by_position(event)
    if words is None or given is None or isinstance(event.subject, (Const, Instance, Seq)):
        return None
    owner = event.site.parsed.text(event.site.node.func.value)
    short = owner if len(owner) <= _LONG else "tensor"
    first, rest = given[: len(words)], given[len(words) :]
    named = [f"{word}={number}" for word, number in zip(words, first)]
    return f"{short}.{event.name}({', '.join(first)}, ...)", f"{short}.{event.name}({', '.join((*rest, *named))})"


def _function(event: Event) -> tuple[str, str] | None:
    words = NUMBER_AMONG.get(event.name, {}).get(len(event.site.node.args))
    given = _by_position(event)
    if words is None or given is None:
        return None
    named, rest = [], list(given)
    for word in words.split():
        named.append(f"{word}={rest.pop(0 if word == 'beta' else 1)}")
    return f"{event.name}({', '.join(given[:-2])}, ...)", f"{event.name}({', '.join((*rest, *named))})"


def _by_position(event: Event) -> list[str] | None:
    """The arguments as they are written, where all are given by position."""
    args = event.site.node.args
    return None if any(arg.keyword is not None or arg.star for arg in args) else [event.site.parsed.text(arg.value) for arg in args]


_LONG = 30
