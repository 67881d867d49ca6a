"""501, 502, 505: parts of a model that are not registered with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch
from torchsan.probes import modules
from torchsan.program.layers import held, is_a
from torchsan.program.naming import name_of
from torchsan.program.source import assigned, follows_device, methods_that_use, users_class
from torchsan.program.walks import named_parts, parameters_of, parts_of
from torchsan.stream.events import Event
from torchsan.stream.weak_ids import WeakIds

_MOVERS = frozenset(("to", "_apply", "cuda", "cpu", "train", "half", "float"))


class Unregistered(Check):
    """Modules, parameters or tensors of a model are not registered with it."""

    numbers = (501, 502)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.looked = WeakIds()
        self.count = -1

    def on_backward(self, event: Event) -> None:
        if self.count != modules.count():
            self.count = modules.count()
            self._all()

    def on_module_end(self, event: Event) -> None:
        self._all()

    def finish(self) -> None:
        self._all()

    def _all(self) -> None:
        for root in self.watch.modules():
            if root not in self.looked:
                self.looked.add(root)
                named, of_users = named_parts(root), dict[type, bool]()
                parameters = parameters_of(root)
                registered = {id(m) for _, m in named} | {id(p) for p in parameters}
                device = next((p.device for p in parameters), None)
                for path, module in named:
                    is_users = of_users.get(type(module))
                    if is_users is None:
                        is_users = of_users[type(module)] = users_class(module) is not None
                    if is_users:
                        self._look(path, module, registered, device)

    def _look(self, path: str, module: nn.Module, registered: set[int], device: torch.device | None) -> None:
        for name, value in list(module.__dict__.items()):
            if name in ("_parameters", "_buffers", "_modules") or name.startswith("__") or name.endswith("_hooks"):
                continue
            full = f"{path}.{name}" if path else name
            if is_a(value, (list, tuple, dict)):
                self._container(full, name, value, module, registered)
            elif is_a(value, torch.Tensor) and not isinstance(value, nn.Parameter):
                self._tensor(full, name, value, module, device)

    def _container(self, full: str, name: str, value: Any, module: nn.Module, registered: set[int]) -> None:
        if is_a(value, tuple) and tuple.__len__(value) == 1:
            return  # the way to hide a module from its owner: a teacher, a parent
        items = list(_entries(value))
        lost = [item for item in items if id(item) not in registered and _learns(item)]
        # Frozen on purpose and kept out of the way: a teacher, a perceptual network.
        trained = [p for item in lost for p in (item.parameters() if isinstance(item, nn.Module) else (item,))]
        if not any(p.requires_grad for p in trained):
            return
        if any(not account.ids.isdisjoint(map(id, trained)) for account in self.ledger):
            return  # handed to an optimizer by hand
        self.found(
            501,
            assigned(module, name) or self._fallback(module),
            key=(type(module), name),
            name=f"self.{name}",
            model=type(module).__name__,
            fact=f"{full}: {len(lost)} of {len(items)} entries, {sum(p.numel() for p in trained)} values",
            details={"path": full, "kinds": sorted({type(item).__name__ for item in lost})},
        )

    def _tensor(self, full: str, name: str, value: torch.Tensor, module: nn.Module, device: Any) -> None:
        if value.requires_grad and value.is_leaf:
            return  # meant to be trained: see 116
        away = device is not None and value.device != device
        uses = methods_that_use(module, name)
        if value.dim() == 0 and not value.requires_grad and value.device.type == "cpu":
            return  # a lone number of the CPU meets tensors of any device
        written = {method for method, how in uses.items() if "writes" in how} - {"__init__"}
        # A cache or a state that methods write anew is looked after by them.
        if written or follows_device(module, name) or _MOVERS & uses.keys() or not self._in_forward(module, uses):
            return
        if value.grad_fn is not None and not away:
            return  # computed, not kept: weight norm and the like put tensors in their parameters' place
        self.found(
            502,
            assigned(module, name) or self._fallback(module),
            key=(type(module), name),
            name=f"self.{name}",
            model=type(module).__name__,
            fact=f"{full}, {tuple(value.shape)} on {value.device}"
            + (f", the parameters are on {device}" if away else ""),
            details={"path": full, "device": str(value.device)},
        )

    @staticmethod
    def _in_forward(module: nn.Module, uses: dict[str, set[str]]) -> bool:
        """Whether forward, or a method whose name forward's code mentions, reads it."""
        forward = getattr(type(module).forward, "__code__", None)
        mentioned = set(forward.co_names) if forward is not None else set()
        return any(method == "forward" or method in mentioned for method in uses)

    @staticmethod
    def _fallback(module: nn.Module) -> Any:
        from torchsan.program.where import Where

        code = getattr(type(module).__init__, "__code__", None)
        return None if code is None else Where(code, -1, code.co_firstlineno)


def _entries(value: Any, depth: int = 3) -> Iterator[Any]:
    """What a container holds, and what containers in it do."""
    for item in held(value):
        if is_a(item, (list, tuple, dict)):
            if depth:
                yield from _entries(item, depth - 1)
        else:
            yield item


def _learns(item: Any) -> bool:
    """Whether an entry of a container is a parameter or a module that has one."""
    if is_a(item, nn.Module):
        return next(item.parameters(), None) is not None
    return is_a(item, torch.Tensor) and isinstance(item, nn.Parameter)


class BuiltInForward(Check):
    """A layer with parameters is built anew in every forward."""

    numbers = (505,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.built: dict[int, tuple[nn.Module, Any]] = {}

    def on_parameter_create(self, event: Event) -> None:
        if event.subject is not None and not isinstance(event.parameter, nn.parameter.UninitializedTensorMixin):
            self.built.setdefault(id(event.subject), (event.subject, event.where()))

    def on_forward(self, event: Event) -> None:
        if event.depth or not self.built:
            return
        root, built = event.subject, list(self.built.values())
        self.built = {}
        kept = {id(module) for module in parts_of(root)}
        for module, place in built:
            if id(module) not in kept and any(p.requires_grad for p in module.parameters(recurse=False)):
                if not self._lives(module):
                    kind = type(module).__name__
                    self.found(505, place, call=f"nn.{kind}(...)", layer=kind, model=name_of(root))

    def _lives(self, module: nn.Module) -> bool:
        """Whether it was put somewhere else: into another model, or to an optimizer."""
        if any(id(module) in {id(m) for m in other.modules()} for other in self.watch.modules() if other is not module):
            return True
        return bool(self.ledger.of(module.parameters()))


CHECKS = (Unregistered, BuiltInForward)
