"""Pretrained models, and parts of models, that are called without gradients alone: they are frozen, whatever their parameters say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Const, Event, Instance, Value, real
from torchlint.rules.base import View

# Another model's copy, which the program moves along.
_MOVED_ALONG = re.compile(
    r"(?:^|_)ema(?:_|$)|momentum_?(?:update|encoder)|moving_?average|update_?(?:target|key|teacher|ema|moving)", re.IGNORECASE
)


def called_without_gradients(view: View) -> Iterator[Event]:
    """The calls in training mode of what is called in a `no_grad` of the function itself, and nowhere with gradients."""
    seen: set[int] = set()
    for event in view.of("forward"):
        part = event.subject
        if event.grad is not False or event.mode is not True or not isinstance(part, Instance) or id(part) in seen:
            continue
        seen.add(id(part))
        around = event.get("grad_site")
        if around is None or around.parsed is not event.site.parsed:
            continue
        if any(other.grad is not False for other in view.about("forward", part)):
            continue
        if not any(map(_MOVED_ALONG.search, event.site.parsed.facts.words)):
            yield event


def is_pretrained(model: Value) -> bool:
    """Whether one of torchvision's models is made with weights."""
    if not isinstance(model, Instance):
        return False
    given = model.arg(0, "pretrained") if "weights" not in model.kwargs else model.kwargs["weights"]
    alts = real(given)
    return bool(alts) and not any(isinstance(alt, Const) and not alt.value for alt in alts)
