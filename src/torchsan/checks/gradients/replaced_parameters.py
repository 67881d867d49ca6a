"""135, 815: the optimizer holds parameters that the model has replaced since: by sharding, or by a call that makes new
ones. (A layer that was replaced, with all that is in it, is 118's.)"""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.naming import name_of
from torchsan.program.walks import named_parts
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account

_LOOKS = 2  # steps of an optimizer before which its parameters are looked at
_Homes = dict[int, tuple[Any, str, str]]  # by id of a parameter: its module (weakly), its name there, its full name


class ReplacedParameters(Check):
    """The optimizer holds parameters that the model no longer has."""

    numbers = (135, 815)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.homes: dict[int, tuple[_Homes, Event | None]] = self.ledger.while_alive({})  # by id of the account
        self.new: set[int] = set()  # ids of the parameters that took the place of others

    def start(self) -> None:
        for account in self.ledger:
            self.homes[id(account)] = self._homes(account), None

    def on_optimizer_create(self, event: Event) -> None:
        event.where()
        account = self.ledger.account(event.subject)
        self.homes[id(account)] = self._homes(account), event

    def _homes(self, account: Account) -> _Homes:
        found: _Homes = {}
        for root in self.watch.modules():
            for path, module in named_parts(root):
                if isinstance(module, torch.jit.ScriptModule):
                    continue  # keeps its parameters elsewhere
                for name, parameter in module._parameters.items():
                    if parameter is not None and id(parameter) in account.ids:
                        full = f"{path}.{name}" if path else name
                        found.setdefault(id(parameter), (weakref.ref(module), name, full))
        return found

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if account.steps < _LOOKS and id(account) in self.homes:
            self._look(account, event)

    def _look(self, account: Account, event: Event) -> None:
        homes, made = self.homes[id(account)]
        known = {id(p) for other in self.ledger for p in other.params}
        names, new, owners = [], [], []
        for parameter in account.params:
            module, name, full = homes.get(id(parameter), (None, "", ""))
            owner = module() if module is not None else None
            if owner is None or owner._parameters.get(name) is parameter or parameter.grad is not None:
                continue
            now = owner._parameters.get(name)
            others = [now] if now is not None else [p for p in owner.parameters() if id(p) not in homes]
            trained = [p for p in others if id(p) not in known and p.requires_grad and p.grad is not None]
            if trained:
                names.append(full)
                new.extend(trained)
                owners.append(owner)
        if not names:
            return
        self.new.update(map(id, new))
        sharded = _sharded(new[0])
        model = next((root for root in self.watch.modules() if owners[0] in set(root.modules())), owners[0])
        self.found(
            815 if sharded else 135,
            made or event,
            optimizer=name_of(event.subject),
            model=name_of(model) or type(model).__name__,
            call=_call(model) if sharded else None,
            fact=f"{len(names)} of {len(account.params)} parameters: {names[0]}"
            + (f" and {len(names) - 1} more" if len(names) > 1 else ""),
            related=((event, "the step that finds no gradient in them"),) if made is not None else (),
            details={"parameters": names},
        )


def replaced(watch: Any) -> set[int]:
    """The ids of parameters that took the place of an optimizer's, as far as this check has said it."""
    return next((check.new for check in watch.checks if isinstance(check, ReplacedParameters)), set())


def _sharded(parameter: torch.Tensor) -> bool:
    """Whether a parameter is a process's part of one, or several made into one."""
    return {"DTensor", "FlatParameter"} & {cls.__name__ for cls in type(parameter).__mro__} != set()


def _call(model: nn.Module) -> str:
    """What has sharded a model."""
    kinds = {cls.__name__ for module in model.modules() for cls in type(module).__mro__}
    if "FSDPModule" in kinds:
        return "fully_shard"
    return "FullyShardedDataParallel" if "FullyShardedDataParallel" in kinds else "parallelize_module"


CHECKS = (ReplacedParameters,)
