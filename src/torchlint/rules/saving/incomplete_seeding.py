"""931: some of the random generators in use are seeded, and not all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.rules.base import Report, View

CODE = 931
_SEEDS = {"torch.manual_seed": "torch", "random.seed": "random", "numpy.random.seed": "numpy"}
CALLS = frozenset(_SEEDS)
_WHOLE = re.compile(r"seed_everything|set_seed|seed_all\b|fix_seed|default_rng|Generator\(")
_USES = {
    "random": re.compile(r"(?<![\w.])random\.(?!seed|Random|getstate|setstate)[a-z]+\("),
    "numpy": re.compile(r"(?<![\w.])(?:np|numpy)\.random\.(?!seed|RandomState|get_state|set_state)[a-z]+\("),
}
_CALLS = {"random": "random.seed(...)", "numpy": "numpy.random.seed(...)"}


def check(view: View) -> Iterator[Report]:
    """`torch.manual_seed(0)` in a file that draws from numpy.random too."""
    seeded = {_SEEDS[event.name] for event in view.of("call") if event.name in _SEEDS}
    for event in view.of("call"):
        if event.name != "torch.manual_seed" or any(_WHOLE.search(line) for line in event.site.parsed.facts.lines):
            continue
        text = "\n".join(line.split("#", 1)[0] for line in event.site.parsed.facts.lines)
        for name, uses in _USES.items():
            if name not in seeded and uses.search(text) and f"{name}.seed(" not in text and "random.seed(" not in text:
                yield Report(CODE, event.site, {"other": name, "call": _CALLS[name]})
                break
