"""What the sizes of a loss function's two arguments tell."""

from __future__ import annotations

from torchlint.dryrun.torch_api.shapes import Shape, Size, differ
from torchlint.dryrun.values import Const, Event, Instance, Opaque, Value, real
from torchlint.rules.shared.reached import may_be_dead

# Losses that compare value by value: these broadcast, with a warning at most.
BROADCAST = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"}
)
# These refuse what is not of one shape.
EQUAL = frozenset({"binary_cross_entropy", "binary_cross_entropy_with_logits"})
# A class number for each position: the classes stand in the second dimension.
CLASSES = frozenset({"cross_entropy", "nll_loss"})


def certain(event: Event) -> tuple[Shape, Shape] | None:
    """The shapes of input and target, where no condition on sizes stands around the loss. Of several values these are what all of them have."""
    if not real(event.input) or not real(event.target) or may_be_dead(event):
        return None
    return event.shapes


def reduces(event: Event) -> bool:
    """Whether the loss is one number for certain: `reduction="none"` may be meant to compare all pairs."""
    made = event.subject.kwargs if isinstance(event.subject, Instance) else {}
    given = {**made, **event.kwargs}
    if {"*", "**"} & given.keys() or {"reduce", "size_average"} & given.keys():
        return False
    value = given.get("reduction")
    return value is None or isinstance(value, Const) and value.value in ("mean", "sum")


def is_row(shape: Shape) -> bool:
    """Whether a shape is (N,), with more than one value as far as known."""
    return shape.rank == 1 and shape.dims[0] != 1


def is_column(shape: Shape, value: Value, row: Size) -> bool:
    """Whether a shape is (N, 1). Of (..., 1) that is so where it came out of a model that was given a batch; where the
    other side is known to have several values it makes no difference."""
    if not shape.dims or shape.dims[-1] != 1:
        return False
    if shape.rank is not None:
        return shape.rank == 2 and shape.dims[0] != 1
    return len(shape.dims) == 1 and (differ(row, 1) or of_batch(value))


def of_batch(value: Value) -> bool:
    """Whether a value was computed from what a loader gave: one that was seen made, or that is declared as one."""
    todo, seen = [value], set()
    while todo:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Opaque):
            if item.tags & {"batch", "loader"}:
                return True
            todo.extend(item.parts)
            if item.origin is not None:
                todo.append(item.origin)
    return False
