"""802: every process of a distributed run trains on the whole data set."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchlint.dryrun.torch_api.batches import whole_dataset
from torchlint.dryrun.values import Class, Event, Instance, Ref, Seq, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.divided_by_hand import divided_by_hand

CODE = 802
# Some other way to give each process its own part.
_SHARES = re.compile(r"sampler|shard|rank|world|num_replicas|split_dataset|prepare|partition|scatter", re.I)
_PROCESS = re.compile(r"\w*(?:rank|world)\w*", re.I)  # any program of several processes speaks of these


def check(view: View) -> Iterator[Report]:
    """A DistributedDataParallel model is trained on a DataLoader that has no sampler."""
    wraps = [event for event in view.of("wrap") if event.subject.type == "torch.nn.parallel.DistributedDataParallel"]
    loaders = {id(event.subject): event for event in view.of("loader.create")}
    for event in view.of("loader.iterate") if wraps else ():
        made = loaders.get(id(event.subject))
        if made is None or not _whole(made.subject) or not _same_everywhere(view, made.dataset):
            continue
        wrap = _trained(view, event, wraps)
        if wrap is not None and not _shared_otherwise(made) and not divided_by_hand(made):
            name = made.subject.name or "loader"
            yield Report(CODE, made.site, {"loader": name}, [(wrap.site, "one of these runs in each process")])


def _whole(loader: Instance) -> bool:
    given = {"sampler", "batch_sampler", "*", "**"} & loader.kwargs.keys()
    return isinstance(loader.cls, Ref) and not given and len(loader.args) < 4


def _same_everywhere(view: View, data: Value | None) -> bool:
    """Whether a data set, whichever of several it is, is one that knows nothing of processes, for certain. An empty list is what a name
    has before it gets one: a loader refuses to mix it."""
    alts = [alt for alt in real(whole_dataset(data)) if not _is_empty(view, alt)]
    return bool(alts) and all(map(_knows_of_none, alts))


def _is_empty(view: View, value: Value) -> bool:
    items = view.run.store.get(value, "[]") if type(value) is Seq else None
    return items is not None and not items.known and not items.open


def _knows_of_none(made: Value) -> bool:
    if not isinstance(made, Instance) or made.kind != "dataset":
        return False
    if isinstance(made.cls, Class):
        if not made.cls.externals() or any("Iterable" in name or name == "?" for name in made.cls.externals()):
            return False
        words = {word for unit in (*made.cls.cf.methods.values(), *made.cls.cf.body) for word in unit.words}
        return not any(_SHARES.search(word) for word in words)
    return made.type.startswith("torchvision.datasets.") or made.type == "torch.utils.data.TensorDataset"


def _trained(view: View, event: Event, wraps) -> Event | None:
    """The wrapped model that is trained in a loop over the loader."""
    for backward in view.of("backward"):
        if event.site.node is None or not any(loop.over is event.subject or _around(loop, event) for loop in backward.loops):
            continue
        for wrap in wraps:
            inner = (wrap.subject, *real(wrap.module))
            if any(flow.subject in inner for flow in backward.flows):
                return wrap
    return None


def _around(loop, event: Event) -> bool:
    """Whether a loop is the one that an iteration begins: `for batch in tqdm(loader)`."""
    return loop.site is not None and event.site.node is getattr(loop.site.node, "iter", None)


def _shared_otherwise(made: Event) -> bool:
    """Whether the file deals the data out in some other way."""
    return any(_SHARES.search(word) and not _PROCESS.fullmatch(word) for word in made.site.parsed.facts.words)
