"""701, 702, 704, 705: autocast, the GradScaler and the steps around them."""

from __future__ import annotations

from typing import Any

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.autograd_graph import nodes
from torchsan.program.naming import name_of
from torchsan.program.walks import parameters_of
from torchsan.stream.events import Event


def autocast_dtype(device: str) -> torch.dtype | None:
    """The dtype of the autocast that is on for a device type; None where it is off."""
    try:
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    except (RuntimeError, TypeError):
        return None


_LOOKS = 3  # backward passes whose graphs are looked into
_NODES = 64  # nodes of a graph to look at
# One call that tells that no device type has autocast on, where torch has it.
_any_autocast = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


def _float16(module: torch.nn.Module) -> bool:
    """Whether a forward of `module` runs in float16 by autocast."""
    parameter = next(module.parameters(), None)
    return autocast_dtype("cpu" if parameter is None else parameter.device.type) is torch.float16


def _through_float16(loss: Any, module: torch.nn.Module) -> bool:
    """Whether the graph of a loss goes through float16 where the model has no such parameters: autocast inside."""
    near = nodes([getattr(loss, "grad_fn", None)], _NODES)
    if not any(one.dtype is torch.float16 for node in near for one in getattr(node, "_input_metadata", ())):
        return False
    return not any(p.dtype is torch.float16 for p in parameters_of(module))


class BackwardInAutocast(Check):
    """Backward runs inside autocast."""

    numbers = (701,)

    def before_backward(self, event: Event) -> None:
        root = event.subject
        if _any_autocast() and isinstance(root, torch.Tensor):
            dtype = autocast_dtype(root.device.type)
            if dtype is not None:
                self.found(701, event, loss=name_of(root), fact=f"autocast to {str(dtype).removeprefix('torch.')}")


class Unscaled(Check):
    """Autocast to float16 and no GradScaler."""

    numbers = (702,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.forward: Event | None = None
        self.looks = _LOOKS
        self.inside: set[int] = set()  # models that switch autocast on themselves, in forward
        self.pending: dict[int, tuple[Event, Event]] = {}

    def before_forward(self, event: Event) -> None:
        if event.depth == 0 and event.grad:
            self.forward = event if _any_autocast() and _float16(event.subject) else None

    def before_backward(self, event: Event) -> None:
        if self.forward is None and (self.looks or self.thorough):
            self.looks = max(0, self.looks - 1)
            forward = self.ledger.last_forward
            if forward is not None and forward.subject is not None and _through_float16(event.subject, forward.subject):
                self.inside.add(id(forward.subject))

    def on_backward(self, event: Event) -> None:
        forward = self.forward
        if forward is None and self.inside:
            last = self.ledger.last_forward
            forward = last if last is not None and id(last.subject) in self.inside else None
        if forward is None:
            return
        if event.scale is not None or _scaled_by_hand(event.subject):
            self.pending.clear()
            return
        for account in event.reached:
            self.pending[id(account)] = (event, forward)

    def before_optimizer_step(self, event: Event) -> None:
        pending = self.pending.pop(id(self.ledger.account(event.subject)), None)
        if pending is not None:
            backward, forward = pending
            self.found(
                702,
                backward,
                loss=name_of(backward.subject),
                optimizer=name_of(event.subject),
                related=((forward, "the forward in float16"), (event, "the step on what is left of the gradients")),
            )


def _scaled_by_hand(loss: Any) -> bool:
    """The last operation on the loss multiplied it: a loss scale of the user's own, it may be."""
    node = getattr(loss, "grad_fn", None)
    return node is not None and node.name().startswith("MulBackward")


class ScalerSteps(Check):
    """Steps with a GradScaler that by-pass it, or never move it on."""

    numbers = (704, 705)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.stepped: dict[tuple[int, int], tuple[Event, Any]] = {}  # with a weak reference to the optimizer: an id may be another's later
        self.inside: set[int] = set()

    def before_scaler_step(self, event: Event) -> None:
        self.inside.add(id(event.optimizer))
        earlier = self._earlier(event)
        if earlier is not None:
            self._no_update(event, earlier)
        self.stepped[id(event.subject), id(event.optimizer)] = event, weakref.ref(event.optimizer)

    def on_scaler_step(self, event: Event) -> None:
        self.inside.discard(id(event.optimizer))

    def before_scaler_unscale(self, event: Event) -> None:
        earlier = self._earlier(event)
        if earlier is not None and id(event.optimizer) not in self.inside:
            self._no_update(event, earlier)

    def _earlier(self, event: Event) -> Event | None:
        """The step of this scaler with this optimizer that no update came after."""
        earlier, optimizer = self.stepped.get((id(event.subject), id(event.optimizer)), (None, None))
        same = earlier is not None and earlier.subject is event.subject and optimizer() is event.optimizer
        return earlier if same else None

    def _no_update(self, event: Event, earlier: Event) -> None:
        name = name_of(event.subject)
        self.found(
            704,
            event,
            scaler=name,
            optimizer=name_of(event.optimizer),
            call=f"{name or 'scaler'}.{'step' if event.name == 'scaler.step' else 'unscale_'}",
            related=((earlier, "the step after which nothing moved the scale on"),),
        )

    def on_scaler_update(self, event: Event) -> None:
        self.stepped = {key: value for key, value in self.stepped.items() if key[0] != id(event.subject)}

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        scale = account.last.get("scale")
        if scale is None or id(event.subject) in self.inside or not account.backwards:
            return
        if account.number("unscale") > account.number("backward"):
            return  # unscaled on purpose: the gradients are right, only an overflow would go unseen
        if account.changed_since():
            return  # divided by hand, it may be
        scaler = scale.subject  # None where nobody holds it any more: the gradients are scaled all the same
        self.found(
            705,
            event,
            optimizer=name_of(event.subject),
            scaler=name_of(scaler) if scaler is not None else "",
            fact="" if scaler is None else f"the gradients are {scaler.get_scale():g} times too large",
            related=((scale, "where the loss was scaled"),),
        )


CHECKS = (BackwardInAutocast, Unscaled, ScalerSteps)
