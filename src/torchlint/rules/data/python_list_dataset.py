"""618: workers share a dataset that is one large Python list."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Dict, Seq, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, dataset_of, methods_within, option, workers

CODE = 618


def check(view: View) -> Iterator[Report]:
    """`self.samples = [...]`, filled in a loop, in a dataset that a loader with workers reads."""
    for event, loader in created(view):
        dataset = dataset_of(loader)
        if dataset is None or option(loader, "num_workers") is None or workers(loader) == 0:
            continue
        read = {word for unit in methods_within(dataset.cls, "__getitem__") for word in unit.words}
        for change in view.of("setattr"):
            if change.subject is not dataset or change.name not in read:
                continue
            alts = real(change.value)
            kept = view.run.store.get(alts[0], "[]") or view.run.store.get(alts[0], "{}") if len(alts) == 1 else None
            plain = alts and (isinstance(alts[0], Dict) or isinstance(alts[0], Seq) and alts[0].kind == "list")
            if plain and kept is not None and kept.open:
                related = [(event.site, "the workers of this loader share its memory at first")]
                yield Report(CODE, change.site, {"name": f"self.{change.name}"}, related)
