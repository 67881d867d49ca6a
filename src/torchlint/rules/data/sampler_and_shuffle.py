"""608: options of a DataLoader that shut each other out."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.values import Instance, number, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, dataset_of, given, option, style, true

CODE = 608


def check(view: View) -> Iterator[Report]:
    """`sampler=` with `shuffle=True`, `batch_sampler=` with any of the options it stands for, an order for a stream."""
    for event, loader in created(view):
        clash = _clash(loader)
        if clash:
            yield Report(CODE, event.site, {"one": clash[0], "other": clash[1]})


def _clash(loader: Instance) -> tuple[str, str] | None:
    shuffled = true(option(loader, "shuffle"))
    sampler, batches = option(loader, "sampler"), option(loader, "batch_sampler")
    if given(sampler) and shuffled:
        return "sampler", "shuffle=True"
    if given(batches):
        size = number(option(loader, "batch_size"))
        for wrong, text in (
            (shuffled, "shuffle=True"),
            (given(sampler), "sampler"),
            (true(option(loader, "drop_last")), "drop_last=True"),
            (size is not None and size != 1, f"batch_size={size}"),
        ):
            if wrong:
                return "batch_sampler", text
    dataset = dataset_of(loader)
    if dataset is not None and style(dataset) == "iterable" or _stream_of_torch(loader):
        if shuffled or given(sampler) or given(batches):
            return "an IterableDataset", (
                "shuffle=True" if shuffled else "sampler" if given(sampler) else "batch_sampler"
            )
    return None


def _stream_of_torch(loader: Instance) -> bool:
    alts = real(option(loader, "dataset"))
    return len(alts) == 1 and isinstance(alts[0], Instance) and alts[0].type == "torch.utils.data.ChainDataset"
