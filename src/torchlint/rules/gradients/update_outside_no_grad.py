"""123: a weight is updated by hand while autograd records."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.values import Event, Opaque, Tensor, real
from torchlint.rules.base import Report, View
from torchlint.rules.gradients.inplace_on_leaf import is_leaf, uses_gradient

CODE = 123


def check(view: View) -> Iterator[Report]:
    """`w -= lr * w.grad` or `w = w - lr * w.grad` with grad mode on."""
    for event in view.new("augment"):
        alts = real(event.subject)
        leaves = [alt for alt in alts if is_leaf(alt)]
        if event.grad_on is True and leaves and uses_gradient(event, leaves):
            yield Report(CODE, event.site, {"name": event.site.parsed.text(event.target)})
    for event in view.new("assign"):
        value = event.subject
        if event.grad_on is not True or not isinstance(value, Opaque):
            continue
        for part in value.parts:
            leaf = part.traits.get("grad_of") if isinstance(part, Tensor) else None
            if leaf is None or not is_leaf(leaf) or leaf not in value.parts:
                continue
            target = event.site.parsed.text(event.target)
            if leaf.name == target and not _of_its_numbers(event, target):
                yield Report(CODE, event.site, {"name": target})
                break


def _of_its_numbers(event: Event, target: str) -> bool:
    """Whether the new value is made of the weight's numbers and gradient alone, which autograd does not follow: `w.data - lr * w.grad`,
    `(w - lr * w.grad).detach()`."""
    node = event.site.node
    text = event.site.parsed.text(node.value) if getattr(node, "value", None) is not None else ""
    uses = re.findall(rf"(?<![\w.]){re.escape(target)}\b(\.data\b|\.detach\(|\.grad\b)?", text)
    return "" not in uses and bool({".data", ".detach("} & set(uses))
