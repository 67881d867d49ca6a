"""609: training takes the first batch of a new pass, again and again."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Const, Instance, Ref, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import dataset_of, option, style

CODE = 609
_RANDOM = frozenset({"random", "randint", "rand", "randn", "choice", "shuffle", "randperm", "sample", "uniform", "rng"})


def check(view: View) -> Iterator[Report]:
    """`next(iter(loader))` in a training loop over a loader that does not shuffle."""
    for event in view.of("loader.first"):
        alts = real(event.subject)
        if (
            len(alts) != 1
            or not event.loops
            or not _in_order(alts[0])
            or event.loops[-1] in view.run.made_in.get(id(alts[0]), ())
        ):
            continue
        loop = event.loops[-1]
        steps = [step for step in view.of("optimizer.step") if step.loops and step.loops[-1] is loop]
        if not steps or "StopIteration" in loop.site.text() or loop.kind == "for" and loop.over is alts[0]:
            continue
        related = [(alts[0].site, "the loader is built here, without shuffle")] if alts[0].site is not None else []
        yield Report(
            CODE,
            event.site,
            {"call": view.call_text(event.site), "loader": alts[0].name or "loader"},
            [*related, (steps[0].site, "each of these steps sees the same samples")],
        )


def _in_order(loader) -> bool:
    """Whether every pass over a loader certainly begins with the same batch."""
    if not isinstance(loader, Instance) or loader.kind != "loader" or not isinstance(loader.cls, Ref):
        return False
    if (
        loader.kwargs.keys() & {"*", "**"}
        or option(loader, "sampler") is not None
        or option(loader, "batch_sampler") is not None
    ):
        return False
    shuffle = option(loader, "shuffle")
    if shuffle is not None and not (isinstance(shuffle, Const) and not shuffle.value):
        return False
    dataset = dataset_of(loader)
    if dataset is not None:
        methods = [item for name in ("__getitem__", "__iter__") if (item := dataset.cls.method(name))]
        return style(dataset) == "map" and not any(unit.words & _RANDOM for _, unit in methods)
    alts = real(whole_dataset(option(loader, "dataset")))
    return len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type == "torch.utils.data.TensorDataset"
