"""706, 707, 711: float16 where it does harm, and a GradScaler where there is nothing to scale, or too much."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.autograd_graph import nodes
from torchsan.program.naming import name_of
from torchsan.stream.events import Event

_LOOKS = 3  # backwards whose graphs are looked into, and steps whose parameters are
_NODES = 64  # nodes of a graph to look at
# Below this the scaler makes gradients smaller, where it is there to make them larger. DeepSpeed and Megatron-LM end a
# run whose loss scale comes to 1 (`min_loss_scale`, `--min-loss-scale`).
_LEAST = 1.0
_ROW = 3  # steps skipped in a row before the scale is looked at: a few are skipped until it has found its place


class HalfWeights(Check):
    """An optimizer trains weights in float16.

    Only torch's own optimizers: others may keep copies in float32, or what was rounded away.
    """

    numbers = (707,)

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if account.steps >= _LOOKS or not type(event.subject).__module__.startswith("torch.optim"):
            return
        half = [p for p in account.params if p.dtype is torch.float16 and p.grad is not None]
        if not half:
            return
        rates = sorted({float(group["lr"]) for group in event.subject.param_groups if "lr" in group})
        self.found(
            707,
            event,
            optimizer=name_of(event.subject) or "optimizer",
            words=(
                "`{optimizer}.step()` updates weights in float16, and rounds each small update of them away",
                "keep the weights in float32 and compute under `torch.autocast` with a `GradScaler`",
            ),
            fact=f"{len(half)} of {len(account.params)} parameters; a weight of 1 changes by 0.0005 or not at all, and "
            f"the learning rate is {', '.join(f'{rate:g}' for rate in rates)}",
            details={"parameters": len(half), "lr": rates},
        )


class ScaleCollapse(Check):
    """The loss scale falls and falls: the gradients overflow at any scale."""

    numbers = (711,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.rows: dict[int, int] = {}  # by id of a scaler: steps skipped in a row
        self.steps: dict[int, tuple[int, int]] = {}  # by id of a scaler: its steps, and how many were skipped

    def on_scaler_step(self, event: Event) -> None:
        skipped = self.ledger.account(event.optimizer).last.get("step") is event
        key = id(event.subject)
        self.rows[key] = self.rows.get(key, 0) + 1 if skipped else 0
        steps, all_skipped = self.steps.get(key, (0, 0))
        self.steps[key] = steps + 1, all_skipped + skipped

    def on_scaler_update(self, event: Event) -> None:
        row = self.rows.get(id(event.subject), 0)
        scale = getattr(event.subject, "_scale", None)
        if row < _ROW or not isinstance(scale, torch.Tensor):
            return
        steps, skipped = self.steps[id(event.subject)]
        place, name, step = event.where(), name_of(event.subject), self.ledger.step

        def answer(value: float) -> None:
            if value < _LEAST:
                self.found(
                    711, place, scaler=name, step=step,
                    fact=f"{row} steps in a row were skipped, {skipped} of {steps} in all; the loss scale is {value:g}",
                    details={"skipped": skipped, "steps": steps, "scale": value},
                )

        self.watch.late.ask(self, scale.detach(), answer)


class ScalerWithBfloat16(Check):
    """A GradScaler scales a loss that was computed in bfloat16."""

    numbers = (706,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks = _LOOKS

    def before_scaler_scale(self, event: Event) -> None:
        if self.looks <= 0 or not isinstance(event.loss, torch.Tensor):
            return
        self.looks -= 1
        dtypes = _dtypes(event.loss)
        if torch.bfloat16 in dtypes and torch.float16 not in dtypes:
            self.found(706, event, scaler=name_of(event.subject))


def _dtypes(loss: torch.Tensor) -> set[torch.dtype]:
    """The dtypes in the nearest part of a loss's graph."""
    near = nodes([loss.grad_fn], _NODES)
    return {loss.dtype} | {one.dtype for node in near for one in getattr(node, "_input_metadata", ())}


CHECKS = (HalfWeights, ScaleCollapse, ScalerWithBfloat16)
