"""812: the replicas of a model are not the same on all ranks.

What DistributedDataParallel promises: parameters and buffers are the same when it is built, and gradients are the same
after each backward that is not under `no_sync`. So after every step the parameters are the same, bit for bit, if the
optimizers are. Of buffers nothing is promised in between: batch norm's statistics are each rank's own until the first
rank's replace them in the next forward (never, with `broadcast_buffers=False`).

A rank leaves sums over the bits of its parameters and gradients on the board, at the first steps and then at one in so
many, and looks at those of the others one look later: nobody waits, and no collective is added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch.nn.parallel import DistributedDataParallel

from torchsan.check import Check
from torchsan.own import torch
from torchsan.program.naming import name_of
from torchsan.ranks.bit_sums import Sums
from torchsan.ranks.message_board import board_of
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_FIRST, _EVERY = 4, 16  # steps after which the replicas are compared: the first few, then one in so many
_LAST_LOOK = 1.0  # seconds to wait at the end for what the others leave
_AT_FIRST = "let all processes build or load the same model before it is wrapped, and the same optimizer"
_LATER = "change the model on all processes alike, or on one and then `torch.distributed.broadcast` it"


class _Look(NamedTuple):
    """What one rank sees of a step."""

    event: Event
    model: str | None
    names: list[str]
    left: dict[str, Any]


class ReplicasDiffer(Check):
    """A parameter has other values on one rank than on another."""

    numbers = (812,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looks = 0
        self.waiting: list[tuple[int, _Look, Sums, Sums]] = []  # looks whose sums are still on their way
        self.open: dict[int, _Look] = {}  # looks that were left for the others, and not judged yet
        self.equal_at: int | None = None  # the step after which they were last known to be the same
        self.gradients: Sums | None = None
        self.clipped = False
        self.unsynced = False
        self.failed = False
        self.done = False

    def before_forward(self, event: Event) -> None:
        if event.grad and isinstance(event.subject, DistributedDataParallel):
            self.unsynced = not event.subject.require_backward_grad_sync

    def on_clip(self, event: Event) -> None:
        self.clipped = True

    def on_error(self, event: Event) -> None:
        self.failed = True

    def before_optimizer_step(self, event: Event) -> None:
        self.gradients = None
        model = self._due(self.ledger.account(event.subject), 1)
        if model is not None:
            self.gradients = Sums([p.grad for _, p in _managed(model)])

    def on_optimizer_step(self, event: Event) -> None:
        clipped, self.clipped = self.clipped, False
        if self.waiting:
            self._leave(wait=False)
        account = self.ledger.account(event.subject)
        model = self._due(account, 0)
        if model is None or self.gradients is None:
            return
        named = _managed(model)
        rates = [float(group["lr"]) for group in event.subject.param_groups if "lr" in group]
        left = {"step": account.steps, "clips": clipped, "rates": rates}
        self.looks += 1
        event.where()
        look = _Look(event, name_of(model), [name for name, _ in named], left)
        self.waiting.append((self.looks, look, Sums([p for _, p in named]), self.gradients))
        self._leave(wait=False)
        self._compare()

    def finish(self) -> None:
        if self.done or not (self.waiting or self.open):
            return
        self._leave(wait=True)
        board = board_of(self.watch)
        if board is not None and board.is_ours and self.open:
            board.await_all("replicas", max(self.open), 0.0 if self.failed else _LAST_LOOK)
            self._compare()

    def _leave(self, wait: bool) -> None:
        board = board_of(self.watch)
        if board is None or not board.is_ours:
            self.done = True
            return
        while self.waiting and (wait or all(sums.are_there() for sums in self.waiting[0][2:])):
            number, look, parameters, gradients = self.waiting.pop(0)
            look.left.update(parameters=parameters.read(), gradients=gradients.read())
            self.open[number] = look
            board.post("replicas", number, look.left)

    def _due(self, account: Account, before: int) -> Any:
        """The wrapped model that this account's step is to be looked at for."""
        step = account.steps + before
        if self.watch.me is None or self.done or self.unsynced:
            return None
        if not (step <= _FIRST or step % _EVERY == 0 or self.thorough):
            return None
        for model in self.watch.modules():
            if isinstance(model, DistributedDataParallel) and _is_alike(model, self.watch.me.world):
                if any(id(p) in account.ids for p in model.module.parameters()):
                    return model
        return None

    def _compare(self) -> None:
        """Look at what the others have left by now for the looks that nobody has judged yet."""
        board = board_of(self.watch)
        if board is None:
            return
        present = board.present()
        for number, look in sorted(self.open.items()):
            others = board.read("replicas", number)
            if number + 3 <= self.looks or (others and present.keys() <= others.keys()):
                del self.open[number]
                if others and not self.done:
                    self._judge(look, {board.me.rank: look.left, **others})

    def _judge(self, look: _Look, sides: dict[int, dict[str, Any]]) -> None:
        names = look.names
        first = sides[min(sides)]
        if any(side["step"] != first["step"] or len(side["parameters"]) != len(names) for side in sides.values()):
            return  # the ranks do not do the same thing: there is nothing to compare
        apart = [at for at in range(len(names)) if len({side["parameters"][at] for side in sides.values()}) > 1]
        if not apart:
            self.equal_at = first["step"]
            return
        self.done = True
        if any(finding.number in (803, 807) for finding in self.watch.findings):
            return  # which says why
        others = sorted(rank for rank, side in sides.items() if _of(side, apart) != _of(first, apart))
        name, more = names[apart[0]], f" and {len(apart) - 1} other parameters" if len(apart) > 1 else ""
        who = f"rank {others[0]}" if len(others) == 1 else f"ranks {', '.join(map(str, others))}"
        why, help = _cause(sides, self.equal_at)
        self.found(
            812, look.event, key="replicas", step=first["step"], name=name, model=look.model,
            words=(
                f"after step {first['step']} `{name}`{more} of the model that `DistributedDataParallel` keeps alike "
                f"differ{'' if more else 's'} between rank {min(sides)} and {who}: {why}", help,
            ),
            details={"parameters": [names[at] for at in apart[:8]], "last equal after step": self.equal_at},
        )


def _cause(sides: dict[int, dict[str, Any]], equal_at: int | None) -> tuple[str, str]:
    """What is known of why, and what to do about it."""
    clips = [str(rank) for rank, side in sorted(sides.items()) if side["clips"]]
    if 0 < len(clips) < len(sides):
        return (
            f"only rank {', '.join(clips)} clips the gradients before the step",
            "clip on all ranks: after the backward the gradients are the same everywhere",
        )
    if len({tuple(side["rates"]) for side in sides.values()}) > 1:
        rates = ", ".join(f"{side['rates'][0]:g} on rank {rank}" for rank, side in sorted(sides.items()))
        return f"the learning rates are {rates}", "give the optimizer the same learning rate on all ranks"
    if len({tuple(side["gradients"]) for side in sides.values()}) > 1:
        return (
            f"so do the gradients that this step is made with{_since(equal_at)}",
            "leave the gradients as the backward made them, or change them on all ranks alike",
        )
    if equal_at is None:
        return "they were not the same when the training began", _AT_FIRST
    return f"the gradients are the same, so something else wrote to them{_since(equal_at)}", _LATER


def _since(equal_at: int | None) -> str:
    return "" if equal_at is None else f"; after step {equal_at} all was the same"


def _of(side: dict[str, Any], at: list[int]) -> list:
    return [side["parameters"][index] for index in at]


def _managed(model: Any) -> list[tuple[str, torch.Tensor]]:
    return [(name, p) for name, p in model.module.named_parameters() if name not in model.parameters_to_ignore]


def _is_alike(model: Any, world: int) -> bool:
    """Whether the gradients are the same on all ranks: a hook of the program's may bring together those of some."""
    if torch.distributed.get_world_size(model.process_group) != world:
        return False
    return all(
        (getattr(hook, "__module__", None) or "").startswith("torch.distributed.algorithms")
        and "localSGD" not in getattr(hook, "__name__", "localSGD")
        for hook, _ in getattr(model, "_comm_hooks", ())
    )


CHECKS = (ReplicasDiffer,)
