"""607: a worker process of a DataLoader uses the GPU."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.dryrun.source_text import Parsed, Site
from torchlint.dryrun.values import Class, Func, Instance, Value, real
from torchlint.rules.base import Report, View
from torchlint.rules.shared.devices import on_gpu
from torchlint.rules.shared.loaders import body_of, calls_always_made, created, dataset_of, option, workers

CODE = 607


def check(view: View) -> Iterator[Report]:
    """`.cuda()` or `.to("cuda")` in `__getitem__`, `__iter__` or collate_fn, with `num_workers > 0`."""
    for event, loader in created(view):
        count = workers(loader)
        if not count or option(loader, "multiprocessing_context") is not None or _spawned(event.site.parsed):
            continue
        for definition, parsed, owner in _run_by_workers(view, loader):
            call = next(
                (call for call in calls_always_made(definition.body) if _to_gpu(view, call, parsed, owner)), None
            )
            if call is not None:
                site = Site(parsed, call)
                related = [(event.site, f"this loader runs it in {count} worker processes")]
                yield Report(CODE, site, {"call": view.call_text(site), "method": definition.name.value}, related)


def _run_by_workers(view: View, loader: Instance) -> Iterator[tuple[cst.FunctionDef, Parsed, Instance | None]]:
    dataset = dataset_of(loader)
    for name in ("__getitem__", "__iter__") if dataset is not None else ():
        definition, parsed = body_of(view, dataset.cls, name)
        if definition is not None:
            yield definition, parsed, dataset
    for alt in real(option(loader, "collate_fn")):
        if isinstance(alt, Func):
            definition, parsed = view.run.definition(alt)
            if isinstance(definition, cst.FunctionDef):
                yield definition, parsed, None


def _to_gpu(view: View, call: cst.Call, parsed: Parsed, owner: Instance | None) -> bool:
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in ("cuda", "to"):
        return False
    if isinstance(call.func.value, cst.Name) and call.func.value.value == "torch":
        return False
    if call.func.attr.value == "cuda":
        return True
    given = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "device"]
    value = _worth(view, given[0], parsed, owner) if given else None
    return value is not None and len(real(value)) == 1 and on_gpu(view.run.device_of(value))


def _worth(view: View, node: cst.BaseExpression, parsed: Parsed, owner: Instance | None) -> Value | None:
    """The value of a device: a text, `self.device`, or a name of the file."""
    run = view.run
    if isinstance(node, cst.SimpleString):
        return run.eval_string(node)
    if isinstance(node, cst.Name):
        return run.global_value(node.value, parsed.facts)
    if (
        isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Name)
        and node.value.value == "self"
        and owner is not None
    ):
        return run.store.get(owner, node.attr.value) if isinstance(owner.cls, Class) else None
    return None


def _spawned(parsed: Parsed) -> bool:
    """Whether the program starts its processes in a way that lets them use the GPU."""
    return any("spawn" in line or "forkserver" in line for line in parsed.facts.lines)
