"""134: a context manager is made and dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Instance
from torchlint.rules.base import Report, View
from torchlint.rules.mends.changes import Mend, insert_after, insert_before
from torchlint.rules.mends.rows import deeper, indented, statement_at
from torchlint.rules.shared.may_train import may_train
from torchlint.rules.shared.seen_calls import GRADIENTS, during

CODE = 134

# Not set_grad_enabled: that one acts as soon as it is called.
CONTEXTS = frozenset({"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.amp.autocast"})
# What nobody does without gradients.
_TRAINS = frozenset({"backward", "step", "zero_grad"})


def check(view: View) -> Iterator[Report]:
    """`torch.no_grad()` as a statement."""
    for event in view.of("discarded"):
        made = event.subject
        # Made by this very call: `stack.enter_context(torch.no_grad())` gives back one that it has entered.
        here = isinstance(made, Instance) and made.site is not None and made.site.node is event.site.node
        if here and made.kind == "context" and made.type in CONTEXTS:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)}, mend=_mend(view, event.site))


def _mend(view: View, site: Site) -> Mend | None:
    """Enters it for the rest of the block. How far it was meant to reach is a guess, so this is not safe; a whole file, or
    lines that train, it was not meant for."""
    place = statement_at(site)
    if place is None or not place.alone or not place.rest or isinstance(place.parents[-1], (ast.Module, ast.ClassDef)):
        return None
    called = {node.attr for item in place.rest for node in ast.walk(item) if isinstance(node, ast.Attribute)}
    if called & _TRAINS or not isinstance(place.statement, ast.Expr) or any(may_train(site.parsed, item) for item in place.rest):
        return None
    row, last = place.statement.end_lineno, place.rest[-1].end_lineno
    if any(event.kind in GRADIENTS for event in during(view, site.parsed, row + 1, last)):
        return None  # a function that is called trains
    changes = indented(site.parsed, row + 1, last, deeper(site.parsed, place.statement.lineno))
    if changes is None:
        return None
    return Mend("enter it for the rest of the block", [insert_before(site, "with "), insert_after(site, ":"), *changes], safe=False)
