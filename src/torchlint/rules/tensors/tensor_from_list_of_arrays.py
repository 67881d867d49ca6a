"""429: a tensor is made of a list of arrays, number by number."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Opaque, Seq, real
from torchlint.rules.base import Report, View

CODE = 429
CALLS = frozenset({"torch.tensor", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.as_tensor"})


def check(view: View) -> Iterator[Report]:
    """`torch.tensor([np.array(...), ...])`."""
    for event in view.of("call"):
        if event.name not in CALLS or not event.args:
            continue
        for given in real(event.args[0]):
            items = view.run.known_items(given) if isinstance(given, Seq) and given.kind == "list" else ()
            if items and all(type(alt) is Opaque and "ndarray" in alt.tags for item in items for alt in real(item)):
                yield Report(CODE, event.site, {"call": view.call_text(event.site)})
                break
