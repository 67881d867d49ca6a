"""521, 522, 523: attributes of modules and parameters that hide a method, or do not do what their name says."""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Any

from torch import nn

from torchlint.catalogue.vocabulary import CALLED_WITH_NOTHING, NAMES_OF_MODES, OF_EVERY_MODULE, WHO_CALLS
from torchsan.check import Check
from torchsan.own import gc, inspect, re, torch, weakref
from torchsan.probes.modules import built
from torchsan.program.assignments import assignments
from torchsan.program.naming import name_of
from torchsan.program.source import assigned, users_class
from torchsan.program.walks import parts_of
from torchsan.program.where import _USER, Where, kind_of
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_CALLED = OF_EVERY_MODULE - {"forward"}
_MODE = re.compile(NAMES_OF_MODES)
_SCANS = 8  # times that new modules are looked at while the run goes on
_NEAR = 0.85  # difflib's ratio of "require_grad" and "requires_gradient" to "requires_grad" is 0.96 and 0.86


class HiddenMethods(Check):
    """A module has something else where nn.Module has a method that is called on every module."""

    numbers = (521,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looked = WeakIds()
        self.classes: set[type] = set()
        self.known = self.scans = 0

    def on_optimizer_create(self, event: Event) -> None:
        self._scan()

    def before_forward(self, event: Event) -> None:
        if len(built()) != self.known and self.scans < _SCANS:
            self._scan()

    def on_module_end(self, event: Event) -> None:
        self._scan()

    def finish(self) -> None:
        self._scan()

    def _scan(self) -> None:
        modules = built()
        self.known, self.scans = len(modules), self.scans + 1
        given = (part for model in self.watch.modules() for part in parts_of(model))
        of_users: dict[type, bool] = {}  # a model of very many layers has them of few classes
        for module in [*modules, *given]:
            kind = type(module)
            is_users = of_users.get(kind)
            if is_users is None:
                is_users = of_users[kind] = users_class(module) is not None
            if is_users and module not in self.looked:
                self.looked.add(module)
                self._methods(kind)
                self._attributes(module)

    def _attributes(self, module: nn.Module) -> None:
        space = module.__dict__
        for name in _CALLED.intersection(space):
            if not callable(space[name]) and not _is_own(type(module), name):
                self._say(module, name, WHO_CALLS.get(name, f"`.{name}()` on it raises TypeError"))
        for table in ("_modules", "_parameters", "_buffers"):
            for name in _CALLED.intersection(space.get(table) or ()):
                if not _is_own(type(module), name):
                    effect = f"`self.{name}` still gives the method, and what is kept under that name cannot be reached"
                    self._say(module, name, effect)

    def _say(self, module: nn.Module, name: str, effect: str) -> None:
        place = assigned(module, name) or _line_of(type(module).__init__)
        roles = {"name": f"self.{name}", "method": name, "effect": effect}
        self.found(521, place, key=(type(module), name), step=self.ledger.step, **roles)

    def _methods(self, cls: type) -> None:
        for owner in cls.__mro__:
            if owner is nn.Module or owner in self.classes:
                continue
            self.classes.add(owner)
            for name in _CALLED.intersection(vars(owner)):
                function = vars(owner)[name]
                place = _line_of(function)
                if place is not None and _cannot_be_called(name, function) and not _is_pair(name, owner):
                    effect = WHO_CALLS.get(name, "code written for modules calls it")
                    roles = {"name": f"{owner.__name__}.{name}", "method": name, "effect": effect}
                    self.found(521, place, key=(owner, name), **roles)


def _is_own(cls: type, name: str) -> bool:
    """Whether a class says itself what the name means: by a property, or a method of its own."""
    return any(name in vars(owner) for owner in cls.__mro__ if owner is not nn.Module and issubclass(owner, nn.Module))


def _line_of(function: Any) -> Where | None:
    """The first line of a function that the user wrote."""
    code = getattr(function, "__code__", None)
    if code is None or kind_of(code.co_filename) != _USER:
        return None
    return Where(code, -1, code.co_firstlineno)


def _cannot_be_called(name: str, function: Any) -> bool:
    """Whether a method cannot take what nn.Module gives to the method of that name."""
    if hasattr(function, "__wrapped__"):
        return False
    given = list(inspect.signature(function).parameters.values())[1:]
    if any(one.kind is one.VAR_POSITIONAL for one in given):
        return False
    required = [one for one in given if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    if name != "train":
        return name in CALLED_WITH_NOTHING and bool(required)
    if not given or len(required) > 1 or any(one is not given[0] for one in required):
        return bool(given) or "super" not in function.__code__.co_names
    first = given[0]
    return not (_MODE.search(first.name) or isinstance(first.default, bool) or first.annotation in (bool, "bool"))


def _is_pair(name: str, cls: type) -> bool:
    """Whether a class has a train() and an eval() of its own that need nothing: two switches that fit."""
    both = [vars(cls).get(key) for key in ("train", "eval")]
    return name in ("train", "eval") and all(
        inspect.isfunction(one) and len(inspect.signature(one).parameters) == 1 for one in both
    )


class FlagOnModule(Check):
    """requires_grad is set on a module, and its parameters are what they were."""

    numbers = (522,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.set: list[tuple[weakref.ref, bool, Event]] = []

    def on_module_flag(self, event: Event) -> None:
        place = event.where()
        if not isinstance(event.value, bool) or place is None or _wrote(type(event.subject), place):
            return
        if next(nn.Module.parameters(event.subject), None) is not None:
            self.set.append((weakref.ref(event.subject), event.value, event))

    def on_optimizer_step(self, event: Event) -> None:
        """Only a step shows: one may freeze by keeping parameters from the optimizer."""
        if not self.set:
            return
        flags, self.set = self.set, []
        trained = self.ledger.account(event.subject).ids
        for reference, value, flag in flags:
            module = reference()
            parameters = [] if module is None else list(nn.Module.parameters(module))
            if not value and parameters and not any(id(p) in trained for p in parameters):
                self.set.append((reference, value, flag))  # another optimizer may hold them
                continue
            wrong = [p for p in parameters if p.requires_grad is not value and (value or p.grad is not None)]
            if wrong:
                what = "are frozen" if value else "were trained in the next step"
                fact = f"{len(wrong)} of its {len(parameters)} parameters {what}"
                name = name_of(module) or type(module).__name__
                self.found(522, flag, module=name, wanted=value, fact=fact, related=((event, "that step"),))


def _wrote(cls: type, place: Where) -> bool:
    """Whether a line stands in a method of a class: what that calls `requires_grad` is its own affair."""
    functions = (function for owner in cls.__mro__ for function in vars(owner).values())
    return any(getattr(function, "__code__", None) is place.code for function in functions)


class MisspeltFlag(Check):
    """An attribute that looks like requires_grad, and is not."""

    numbers = (523,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.judged: set[int] = self.ledger.while_alive(set())

    def on_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        if account.steps > 1 or id(account) in self.judged:
            return
        self.judged.add(id(account))
        spelt: dict[str, list[tuple[Any, bool]]] = {}
        for thing in (*_with_attributes(account.params), *(part for root in self.watch.modules() for part in parts_of(root))):
            for name, value in list(getattr(thing, "__dict__", {}).items()):
                if type(value) is bool and _is_misspelt(name) and _disagrees(thing, value):
                    spelt.setdefault(name, []).append((thing, value))
        for name, things in spelt.items():
            self._say(event, name, things)

    def _say(self, event: Event, name: str, things: list[tuple[Any, bool]]) -> None:
        lines = assignments(name)
        if lines is None:
            return  # the program reads it, too
        thing, value = things[0]
        is_tensor = isinstance(thing, torch.Tensor)
        fact = f"found on {len(things)} {'parameters' if is_tensor else 'modules'} at the first step"
        for line in lines or [None]:
            owner = line.owner if line else name_of(thing) or ("parameter" if is_tensor else "model")
            plain = is_tensor and name != "requires_grad_"
            mend = f"{owner}.requires_grad = {value}" if plain else f"{owner}.requires_grad_({value})"
            self.found(523, line.place if line else event, name=name, owner=owner, mend=mend, fact=fact)


def _with_attributes(parameters: list[torch.Tensor]) -> list[torch.Tensor]:
    """None where no parameter has attributes of its own. To ask each for its `__dict__` makes it one, for good: of 40,000
    parameters these are a second and 10 MB."""
    return parameters if dict in map(type, gc.get_referents(*parameters)) else []


@lru_cache(maxsize=1024)
def _is_misspelt(name: str) -> bool:
    if name == "requires_grad" or name.startswith("_"):
        return False
    return name == "requires_grad_" or difflib.SequenceMatcher(None, name, "requires_grad").ratio() >= _NEAR


def _disagrees(thing: Any, wanted: bool) -> bool:
    """Whether it matters: the flag is not what was wanted."""
    parameters = [thing] if isinstance(thing, torch.Tensor) else list(nn.Module.parameters(thing))
    return any(p.requires_grad is not wanted for p in parameters)


CHECKS = (HiddenMethods, FlagOnModule, MisspeltFlag)
