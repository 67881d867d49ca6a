"""204, where attention drops values: `scaled_dot_product_attention(dropout_p=...)` knows no mode. The page's form has the rest."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.source_text import Site
from torchlint.dryrun.values import Const, Event, real
from torchlint.rules.base import Report, View
from torchlint.rules.forms.call import self_stays
from torchlint.rules.mends.changes import Mend, code_of, replace
from torchlint.rules.shared.every_mode import ATTENTION, in_every_mode, rate_of

CODE = 204
_WORDS = (
    "`{call}` drops values in evaluation too: it knows no mode, and its `dropout_p` holds in both",
    "pass `dropout_p=rate if self.training else 0.0`",
)
CALLS = frozenset({f"torch.nn.functional.{ATTENTION}"})


def check(view: View) -> Iterator[Report]:
    """A rate that is not 0 and that nothing sets to 0 in evaluation."""
    for event in view.of("call"):
        if event.name not in CALLS:
            continue
        rate = event.kwargs.get("dropout_p", event.args[4] if len(event.args) > 4 else None)
        if rate is None or "**" in event.kwargs or any(isinstance(alt, Const) and not alt.value for alt in real(rate)):
            continue
        if in_every_mode(event):
            yield Report(CODE, event.site, {"call": "scaled_dot_product_attention(...)"}, mend=_mend(event), words=_WORDS)


def _mend(event: Event) -> Mend | None:
    site: Site = event.site
    given = rate_of(event)
    if not given or not (event.get("of_module") and self_stays(site)):
        return None
    text = code_of(site, given[0])
    if not text.replace(".", "").replace("_", "").isalnum():
        return None
    return Mend("drop nothing in evaluation", [replace(site, f"{text} if self.training else 0.0", given[0])], safe=True)
