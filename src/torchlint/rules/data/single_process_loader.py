"""601: samples are read by the training process itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Instance, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import created, option

CODE = 601


def check(view: View) -> Iterator[Report]:
    """A DataLoader without `num_workers`, over anything but tensors that are in memory already."""
    for event, loader in created(view):
        in_memory = any(
            isinstance(alt, Instance) and alt.type == "torch.utils.data.TensorDataset"
            for alt in real(whole_dataset(option(loader, "dataset")))
        )
        if option(loader, "num_workers") is None and not in_memory:
            yield Report(CODE, event.site, {"call": view.call_text(event.site)})
