"""815: the optimizer is built over parameters that sharding replaces."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.dryrun.alternatives import exclusive
from torchlint.dryrun.flow import after
from torchlint.dryrun.values import Const, Instance, Ref, Value, real
from torchlint.rules.base import Report, View

CODE = 815
_SHARDS = ("torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard")
CALLS = frozenset(_SHARDS)


def check(view: View) -> Iterator[Report]:
    """`optimizer = AdamW(model.parameters())`, then `fully_shard(model)` or `FullyShardedDataParallel(model)`."""
    if not any(_sharded(event) is not None for event in view.of("wrap", "call")):
        return
    for created in view.of("optimizer.create"):
        optimizer = created.subject
        modules, _, _ = view.held_by(optimizer)
        if not isinstance(optimizer, Instance) or not isinstance(optimizer.cls, Ref) or not modules or id(optimizer) in view.run.escaped:
            continue
        found, _ = after(created, lambda event: _sharded(event) is not None)
        for shard in found:
            if any(module in real(_sharded(shard)) for module in modules) and _steps(view, optimizer, shard):
                roles = {"optimizer": optimizer.name or "optimizer", "call": view.call_text(shard.site)}
                yield Report(CODE, created.site, roles, [(shard.site, "the parameters are replaced here")])
                break


def _sharded(event) -> Value | None:
    """The module that an event shards."""
    if event.kind == "wrap" and event.subject.type.endswith("FullyShardedDataParallel"):
        kept = event.subject.kwargs
        # With use_orig_params=True the Parameter objects stay the same, and only what they hold is sharded.
        stays = kept.get("use_orig_params")
        return event.module if stays is None and "**" not in kept or isinstance(stays, Const) and not stays.value else None
    if event.kind == "call" and event.name in _SHARDS:
        return event.args[0] if event.args else event.kwargs.get("module")
    return None


def _steps(view: View, optimizer: Instance, shard) -> bool:
    """Whether the optimizer goes on after that, and is not made anew under the same name."""
    if any(not exclusive(other.subject, optimizer) and other.subject is not optimizer and getattr(other.subject, "name", None) == optimizer.name for other in view.of("optimizer.create")):
        return False
    found, _ = after(shard, lambda event: event.kind == "optimizer.step" and real(event.subject) == (optimizer,))
    return bool(found)
