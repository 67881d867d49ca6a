"""610: every worker reads the whole of an IterableDataset."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.tree import walk
from torchlint.dryrun.values import Class, Instance
from torchlint.rules.base import Report, View
from torchlint.rules.shared.loaders import body_of, created, dataset_of, option, style, workers

CODE = 610
_SHARDS = re.compile(r"get_worker_info|worker|rank|shard|split|world_size", re.IGNORECASE)
_STREAM = re.compile(r"dataset|loader|stream|pipe|source|queue|env|buffer|iter", re.IGNORECASE)
_ENDLESS = re.compile(r"\bwhile (?:True|1)\b|\bcycle\(|\brandom\b|\brand\w*\(|\bchoice|\bsample\(|\bcount\(")


def check(view: View) -> Iterator[Report]:
    """An `__iter__` that goes through all of a file or list, and `num_workers` of two or more."""
    for event, loader in created(view):
        count = workers(loader)
        if count is None or count < 2 or option(loader, "worker_init_fn") is not None:
            continue
        dataset = dataset_of(loader)
        if dataset is None or style(dataset) != "iterable" or not _reads_all(view, dataset):
            continue
        roles = {"dataset": dataset.cls.name, "count": str(count), "call": view.call_text(event.site)}
        related = []
        definition, parsed = body_of(view, dataset.cls, "__iter__")
        if definition is not None:
            related.append((Site(parsed, definition.name), "each worker runs all of this"))
        yield Report(CODE, event.site, roles, related)


def _reads_all(view: View, dataset: Instance) -> bool:
    """Whether what is gone through is the same for every worker, and ends."""
    if not all(_plain(view, item) for item in dataset.cls.mro() if isinstance(item, Class)):
        return False
    definition, parsed = body_of(view, dataset.cls, "__iter__")
    if definition is None or _ENDLESS.search(parsed.text(definition)):
        return False
    texts = [text for text in _gone_through(definition, parsed)]
    return bool(texts) and not any(_STREAM.search(text) for text in texts)


def _plain(view: View, cls: Class) -> bool:
    """Whether a class has no word about workers or shards."""
    return not any(_SHARDS.search(word) for unit in cls.cf.methods.values() for word in (*unit.words, *unit.params))


def _gone_through(definition: cst.FunctionDef, parsed: Parsed) -> Iterator[str]:
    """What the loops of an `__iter__` go over, and what it gives on with `yield from` or `return iter(...)`."""
    for node in walk(definition.body):
        if isinstance(node, cst.For):
            yield parsed.text(node.iter)
        elif isinstance(node, cst.From):
            yield parsed.text(node.item)
        elif (
            isinstance(node, cst.Return) and isinstance(node.value, cst.Call) and parsed.text(node.value.func) == "iter"
        ):
            yield " ".join(parsed.text(arg.value) for arg in node.value.args)
