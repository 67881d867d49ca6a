"""004, 118, 119, 506: parameters that no optimizer knows, or that never get a gradient."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.gradients.cut_graph import cut_of
from torchsan.checks.gradients.replaced_parameters import replaced
from torchsan.own import torch
from torchsan.program.adapters import ADAPTER
from torchsan.program.assignments import loaded, running
from torchsan.program.built import line_that_builds
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.program.source import assigned, never_read, users_class
from torchsan.program.walks import parameters_of
from torchsan.program.where import Where
from torchsan.report.printing import code_at
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account
from torchsan.stream.weak_ids import WeakTable

_CUT = (
    "`{call}` cuts the graph: what comes before it, such as `{name}`, never gets a gradient",
    "go on with the tensor itself, without `.detach()` or `.data`; what is to stay as it is gets `requires_grad_(False)`",
)
_OFF = (
    "`{call}` keeps autograd off where `{name}` is used: it never gets a gradient",
    "leave what is to learn outside of it; what is to stay as it is gets `requires_grad_(False)`",
)
_TWINS = (
    "`{model}` is trained by no optimizer: `{optimizer}` and `{other}` hold the same parameters",
    "give each optimizer the parameters of its own model: `{model}.parameters()`",
)
_ANOTHERS = (
    "`{model}` is trained by no optimizer: `{optimizer}` holds the parameters of `{other}`, which get no gradient",
    "give `{optimizer}` those of the model that the loss is computed with: `{model}.parameters()`",
)
_STEPS = 2  # steps of an optimizer before its parameters are judged
_LONG = 20  # steps without a gradient after which it is said before the end of the run


def full_name(modules: list[nn.Module], parameter: torch.Tensor) -> str | None:
    """The dotted name of a parameter in the first of `modules` that has it."""
    for module in modules:
        for name, candidate in module.named_parameters(remove_duplicate=False):
            if candidate is parameter:
                return name
    return None


def any_grad(parameters: list[torch.Tensor]) -> bool:
    """Whether any of `parameters` has a gradient."""
    return any(p.grad is not None for p in parameters)


def _expression(model: str, path: str) -> str:
    """ "model[0].down" for the path "0.down"."""
    return model + "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split("."))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")



class NotInOptimizer(Check):
    """Trainable parameters are in no optimizer.

    Handing an optimizer a part of the parameters is anybody's right. It is a mistake where the others came after the
    optimizer: a head was replaced, a layer added; or where the optimizer has none of them, but those of a model that is
    not trained any more.
    """

    numbers = (4, 118)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.added = WeakTable()  # of parameters: where they came into a model
        self.samples: dict[int, torch.Tensor] = {}
        self.made: dict[int, Where | None] = self.ledger.while_alive({})  # by id of an optimizer: the line that makes it
        self.told: set[int] = self.ledger.while_alive(set())  # optimizers whose parameters are another model's

    def on_optimizer_create(self, event: Event) -> None:
        self.made[id(event.subject)] = event.where()

    def on_module_add(self, event: Event) -> None:
        if self.ledger.accounts:
            for parameter in parameters_of(event.child):
                self.added.put(parameter, event.where())

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if account.steps < _STEPS:
            for parameter in self._missing():
                self.samples.setdefault(id(parameter), local(parameter).detach().flatten()[:16].clone())

    def on_optimizer_step(self, event: Event) -> None:
        if self.ledger.account(event.subject).steps == _STEPS:
            self._judge(event)

    def finish(self) -> None:
        for account in self.ledger:
            if "step" in account.last:
                self._judge(account.last["step"])

    def _missing(self) -> list[torch.Tensor]:
        known = {i for account in self.ledger for i in account.ids}
        seen: dict[int, torch.Tensor] = {}
        for module in self.watch.modules():
            for parameter in parameters_of(module):
                if id(parameter) not in known and parameter.requires_grad and parameter.grad is not None:
                    seen[id(parameter)] = parameter
        return list(seen.values())

    def _judge(self, event: Event) -> None:
        known = replaced(self.watch)
        missing = [p for p in self._missing() if id(p) not in known and not self._updated_by_hand(p)]
        if not missing:
            return
        modules = self.watch.modules()
        ours = {id(p) for module in modules for p in parameters_of(module)}
        optimizer = event.subject if event.name == "optimizer.step" else None
        # Optimizers that step and step, and never had a gradient: those of a model that was built anew.
        idle = [a for a in self.ledger if a.steps >= _STEPS and not (a.backwards_in_all or any_grad(a.params))]
        twins = self._twins()
        for module in modules:
            in_it = {id(p) for p in parameters_of(module)}
            holders = [account for account in self.ledger if account.steps and not account.ids.isdisjoint(in_it)]
            late = [p for p in missing if id(p) in in_it]
            # Parameters that the optimizer holds and no model has any more: those of the layer that was replaced.
            orphans = any(p.grad is None and id(p) not in ours for account in holders for p in account.params)
            late = [p for p in late if p in self.added or orphans]
            whole = not holders and bool(idle)
            if whole:
                holders, late = idle, [p for p in missing if id(p) in in_it]
                if late and (other := self._owner(idle[0])) is not None:
                    self._say_others(module, late, idle[0], other)
                    return
            if not holders and twins is not None and (left := [p for p in missing if id(p) in in_it]):
                self._say_twins(module, left, twins, event)
                return
            if holders and late:
                names = [full_name([module], p) or "?" for p in late]
                place = self.added.get(late[0])
                model = name_of(module) or type(module).__name__
                if all(map(ADAPTER.search, names)):
                    self._say_adapter(place or event, event, optimizer or holders[0].optimizer, names)
                    return
                self.found(
                    118,
                    event if whole else place or event,
                    optimizer=name_of(optimizer or holders[0].optimizer),
                    name=model if whole else _expression(model, names[0].rpartition(".")[0] or names[0]),
                    change="replaced" if whole or orphans else "added",
                    model=model,
                    fact=f"{len(late)} parameters in no optimizer: {_listed(names)}",
                    related=((event, "the step that does not know them"),),
                    details={"parameters": names},
                )
                return

    def _say_adapter(self, place: Any, event: Event, optimizer: Any, names: list[str]) -> None:
        self.found(
            4, place, happens=f"`{name_of(optimizer) or type(optimizer).__name__}` took the parameters before the adapter's were added",
            mend="build the optimizer from the model that `get_peft_model` gives",
            fact=f"{len(names)} parameters in no optimizer: {_listed(names)}",
            related=((event, "the step that does not know them"),), details={"parameters": names},
        )

    def _twins(self) -> tuple[Account, Account] | None:
        """Two optimizers over the very same parameters."""
        seen: dict[frozenset[int], Account] = {}
        for account in self.ledger:
            other = seen.setdefault(frozenset(account.ids), account)
            if other is not account and (account.steps or other.steps):
                return other, account
        return None

    def _say_twins(self, module: nn.Module, left: list[torch.Tensor], twins: tuple[Account, Account], event: Event) -> None:
        first, second = (name_of(account.optimizer) or "the other optimizer" for account in twins)
        made = [self.made.get(id(account.optimizer)) for account in twins]
        names = [full_name([module], p) or "?" for p in left]
        self.found(
            118, made[1] or event, words=_TWINS, model=name_of(module) or type(module).__name__, optimizer=second, other=first,
            fact=f"{len(left)} parameters in no optimizer: {_listed(names)}",
            related=((made[0], "the other optimizer"), (event, "the step that does not know them")),
            details={"parameters": names},
        )

    def _owner(self, account: Account) -> nn.Module | None:
        """The model whose parameters an optimizer holds."""
        return next((one for one in self.watch.modules() if any(id(p) in account.ids for p in parameters_of(one))), None)

    def _say_others(self, module: nn.Module, left: list[torch.Tensor], idle: Account, other: nn.Module) -> None:
        if id(idle) in self.told:
            return
        self.told.add(id(idle))
        step, names = idle.last["step"], [full_name([module], p) or "?" for p in left]
        self.found(
            118, step, words=_ANOTHERS, model=name_of(module) or type(module).__name__,
            optimizer=name_of(idle.optimizer) or type(idle.optimizer).__name__, other=name_of(other) or type(other).__name__,
            fact=f"{len(left)} parameters in no optimizer: {_listed(names)}",
            related=((self.made.get(id(idle.optimizer)), "the optimizer is built here"),), details={"parameters": names},
        )

    def _updated_by_hand(self, parameter: torch.Tensor) -> bool:
        before = self.samples.get(id(parameter))
        return before is None or not torch.equal(before, local(parameter).detach().flatten()[:16])


class NeverGetsGrad(Check):
    """A trainable parameter never gets a gradient."""

    numbers = (119, 506)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.without: dict[int, tuple[Account, list[torch.Tensor]]] = {}  # accounts of which some parameters have none
        self.whole: set[int] = self.ledger.while_alive(set())  # accounts whose parameters all had a gradient
        self.counts: dict[int, int] = {}  # by id of an account: its parameters, which are gone once the optimizer is
        self.put = WeakTable()  # of parameters: where their layer was put into a model that was built before

    def on_module_add(self, event: Event) -> None:
        place = event.where()
        if place is not None and place.code.co_name != "__init__" and not isinstance(event.subject, nn.Sequential):
            for parameter in parameters_of(event.child):
                self.put.put(parameter, place)

    def _missed(self, account: Account) -> None:
        """A gradient that comes up while the other checks rest counts too."""
        known = self.without.get(id(account))
        if known is not None and known[1]:
            self.without[id(account)] = account, [p for p in known[1] if p.grad is None]

    def before_optimizer_step(self, event: Event) -> None:
        if event.closure:
            return
        account = self.ledger.account(event.subject)
        if id(account) in self.whole:
            return
        known = self.without.get(id(account))
        candidates = account.params if known is None else known[1]
        left = [p for p in candidates if p.grad is None and p.requires_grad]
        if not left:
            self.whole.add(id(account))
            self._drop(account)
        else:
            self.without[id(account)] = (account, left)
            if self._missed not in self.ledger.at_missed_step:
                self.ledger.at_missed_step.append(self._missed)
            self.counts[id(account)] = len(account.params)
            if account.steps == _LONG:
                self._say(account, left, event)
            elif account.steps == _STEPS - 1:
                unread = {id(p): place for p in left if (place := self._never_read(p)) is not None}
                if unread:
                    self._say_unread(account, left, unread, event)

    def _never_read(self, parameter: torch.Tensor) -> tuple[nn.Module, str] | None:
        """The layer's owner and name, where it belongs to one that no code mentions: there is nothing to wait for."""
        for module in self.watch.modules():
            for path, candidate in module.named_parameters():
                if candidate is parameter:
                    return _is_left_out(module, path)
        return None

    def _say_unread(self, account: Account, left: list[torch.Tensor], unread: dict[int, Any], event: Event) -> None:
        if not self.watch.wants(506):
            self._say(account, [p for p in left if id(p) in unread], event)
        elif len(left) < self.counts[id(account)] and account.backwards_in_all:
            self.without[id(account)] = account, [p for p in left if id(p) not in unread]
            for owner, name in {(id(owner), name): (owner, name) for owner, name in unread.values()}.values():
                count = sum(one is owner and other == name for one, other in unread.values())
                fact = f"{count} parameters in the optimizer, none with a gradient after {account.steps + 1} steps"
                place = next((at for p in left if unread.get(id(p)) == (owner, name) and (at := self.put.get(p))), None)
                place = place or assigned(owner, name) or event
                self.found(506, place, key=(type(owner), name), name=f"self.{name}", fact=fact)

    def on_optimizer_create(self, event: Event) -> None:
        for account, left in list(self.without.values()):
            if account.optimizer is None:
                self._judge(account, left)
                self._drop(account)

    def _drop(self, account: Account) -> None:
        self.without.pop(id(account), None)
        self.counts.pop(id(account), None)
        if not self.without and self._missed in self.ledger.at_missed_step:
            self.ledger.at_missed_step.remove(self._missed)

    def on_module_end(self, event: Event) -> None:
        ids = {id(p) for p in parameters_of(event.subject)}
        for key, (account, left) in list(self.without.items()):
            ended = [p for p in left if id(p) in ids]
            if ended:
                self._judge(account, ended)
                self.without[key] = account, [p for p in left if id(p) not in ids]

    def finish(self) -> None:
        for account, left in self.without.values():
            self._judge(account, left)

    def _judge(self, account: Account, left: list[torch.Tensor]) -> None:
        if left and account.steps >= _STEPS and "step" in account.last:
            self._say(account, left, account.last["step"])

    def _say(self, account: Account, left: list[torch.Tensor], event: Event) -> None:
        modules = self.watch.modules()
        names = [name for p in left if (name := full_name(modules, p)) is not None]
        # With none at all it is another mistake (103), and what no model has any more is 118's or 135's.
        if names and len(left) < self.counts[id(account)] and account.backwards_in_all:
            cut, put = cut_of(self.watch, left), self.put.get(left[0])
            built = (line_that_builds(modules, left[0]), "it is built here")
            self.found(
                119,
                put or event if cut is None else cut.at,
                key=tuple(names[:1]),
                name=names[0],
                optimizer=name_of(account.optimizer),
                fact=f"{_listed(names)}",
                details={"parameters": names},
                words=None if cut is None else _OFF if cut.off else _CUT,
                related=(built,) if cut is None and put is None else ((event, "the step that has no gradient for it"), built),
                call="" if cut is None else code_at(cut.at).rstrip(":"),
            )


def _is_left_out(root: nn.Module, path: str) -> tuple[nn.Module, str] | None:
    """The user's module and its attribute that a parameter, or the layers around it, stand in; None if it is read."""
    parts = path.split(".")
    owners = [root]
    for part in parts[:-1]:
        owners.append(owners[-1]._modules.get(part))  # type: ignore[arg-type]
    files = {*running(), *loaded()}
    for owner, name in reversed(list(zip(owners, parts))):
        if owner is None:
            return None
        if users_class(owner) is not None:
            return (owner, name) if never_read(owner, name, files) else None
    return None


CHECKS = (NotInOptimizer, NeverGetsGrad)
