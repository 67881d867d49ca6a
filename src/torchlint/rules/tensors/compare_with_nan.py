"""427: a comparison with NaN, which is never equal to anything."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.rules.base import Report, View

CODE = 427
ALWAYS = {
    "Equal": "False", "NotEqual": "True",
    "LessThan": "False", "GreaterThan": "False", "LessThanEqual": "False", "GreaterThanEqual": "False",
}


def check(view: View) -> Iterator[Report]:
    """`x == torch.nan`, `loss != float("nan")`."""
    for event in view.of("compare.nan"):
        if event.operator in ALWAYS and len(event.site.node.comparisons) == 1:
            sides = [event.site.parsed.text(side) for side in (event.left, event.right)]
            other = next((side for side in sides if "nan" not in side.lower() and len(side) <= 40), "x")
            roles = {"call": view.call_text(event.site), "always": ALWAYS[event.operator], "value": other}
            yield Report(CODE, event.site, roles)
