"""201, 202, 203: training and evaluation mode against what the program does with the result."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.own import torch, weakref
from torchsan.program.autograd_graph import VIEWS, node_name
from torchsan.program.layers import is_dropout, mode_layers, tensors
from torchsan.program.naming import name_of
from torchsan.program.rows import first_column, has_rows_of
from torchsan.stream.events import Event
from torchsan.stream.ledger import Account
from torchsan.stream.weak_ids import WeakIds

_BATCHES = 2  # batches of a loader in a row without any backward: an evaluation
_IN_A_ROW = 3  # the same without a loader
_UNUSED = 2  # graphs that nobody used
_NEVER = 5  # steps of a model that never was in training mode
FROM_THE_START = (
    "`{model}` trains in evaluation mode from its first step on: its dropout does nothing",
    "call `{model}.train()` before the loop, and after each evaluation; `from_pretrained` gives models in evaluation mode",
)


class MissingEval(Check):
    """A model with dropout or batch norm is evaluated in training mode.

    Training mode without gradients is often meant (a GAN's generator that feeds the discriminator, a teacher, pseudo
    labels). It is an evaluation if it is done again and again without any training in between, or if a loss is computed
    of it, or if it comes back between the steps with the same input, which is never trained on, and the model's outputs
    are what losses are computed of; and if the model is one that this program trains (or nothing is trained at all).
    """

    numbers = (201,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.scored = WeakIds()  # models whose outputs go into a loss
        self.trained_on = WeakIds()  # inputs
        self.trained: tuple[weakref.ref, weakref.ref] | None = None  # the last model that ran with gradients, its graph
        self.kept: dict[int, tuple[weakref.ref, int]] = self.ledger.while_alive({})  # by model: the last input without gradients, and the step
        self._forget()

    def _forget(self) -> None:
        self.row = self.batches = 0
        self.drawn = False
        self.last: Event | None = None
        self.outputs: list[weakref.ref] = []
        self.column: torch.Tensor | None = None  # the first value of each row of the first output
        self.given: Any = None

    def on_loader_batch(self, event: Event) -> None:
        self.drawn = True

    def before_backward(self, event: Event) -> None:
        self._forget()

    def before_optimizer_step(self, event: Event) -> None:
        self._forget()

    def on_forward(self, event: Event) -> None:
        if event.depth:
            return
        if event.grad or not event.training:
            if event.grad:
                self._forget()
                if event.training and event.subject not in self.scored:
                    self._remember(event)
            return
        module = event.subject
        if not any(layer.training for layer in mode_layers(module)) or estimates(module) or not self._judged(module):
            return
        given = next(tensors((event.args, event.kwargs)), None)
        again = given is not None and self.given is not None and self.given() is given
        if again or (self.last is not None and self.last.subject is not module):
            self._forget()  # the same input over and over is Monte Carlo dropout
            self.given = None if given is None else weakref.ref(given)
            if again:
                return
        self.given = None if given is None else weakref.ref(given)
        self.row += 1
        self.batches += self.drawn
        self.drawn = False
        self.last = event
        event.where()
        self.outputs = [weakref.ref(t) for t in tensors(event.output)]
        self.column = first_column(next(tensors(event.output), None))
        if self.batches >= _BATCHES or self.row >= _IN_A_ROW or self._comes_back(module, given):
            self._say(event, module)

    def _remember(self, event: Event) -> None:
        for given in tensors((event.args, event.kwargs)):
            self.trained_on.add(given)
        output = next((t for t in tensors(event.output) if t.grad_fn is not None), None)
        if output is not None:
            graph = output.grad_fn.metadata["torchsan.output"] = _Graph()
            self.trained = weakref.ref(event.subject), weakref.ref(graph)

    def _comes_back(self, module: nn.Module, given: torch.Tensor | None) -> bool:
        """Whether this very input was given to a model before the last step too, and was never trained on."""
        if given is None or given in self.trained_on or module not in self.scored:
            return False
        before = self.kept.get(id(module))
        self.kept[id(module)] = (weakref.ref(given), self.ledger.step)
        return before is not None and before[0]() is given and before[1] < self.ledger.step

    def before_loss(self, event: Event) -> None:
        if self.trained is not None and isinstance(event.input, torch.Tensor) and event.input.grad_fn is not None:
            (reference, graph), self.trained = self.trained, None
            module = reference()
            if module is not None and _is_made_of(event.input.grad_fn, graph()):
                self.scored.add(module)
        if self.last is None or torch.is_grad_enabled():
            return
        if any(ref() is event.input for ref in self.outputs) or has_rows_of(self.column, event.input):
            module = self.last.subject
            if module is not None:
                self._say(self.last, module)

    def _judged(self, module: nn.Module) -> bool:
        accounts = list(self.ledger)
        return not any(a.steps for a in accounts) or any(a.steps for a in self.ledger.of(module.parameters()))

    def _say(self, event: Event, module: nn.Module) -> None:
        if module in getattr(self.watch, "loaded", ()):
            return  # 207 says it better
        layers = sorted({type(layer).__name__ for layer in mode_layers(module) if layer.training})
        self.found(201, event, model=name_of(module), fact=f"in training mode: {', '.join(layers)}")


def _is_made_of(node: Any, graph: Any, left: int = 4) -> bool:
    """Whether nothing but views lies between a node and that of an output."""
    while node is not None and graph is not None and left:
        if node.metadata.get("torchsan.output") is graph:
            return True
        if node_name(node) not in VIEWS:
            return False
        node, left = next((following for following, _ in node.next_functions if following is not None), None), left - 1
    return False


def estimates(module: nn.Module) -> bool:
    """Batch norm statistics are being computed anew (torch.optim.swa_utils.update_bn sets the momentum to None)."""
    return any(getattr(layer, "momentum", 0) is None for layer in mode_layers(module) if not is_dropout(layer))


class _Graph:
    """Sits in the metadata of an output's autograd node, so that it dies with the graph; `used` by any backward."""

    __slots__ = ("__weakref__", "used")

    def __init__(self) -> None:
        self.used = [False]


class MissingNoGrad(Check):
    """An evaluation builds autograd graphs that nothing uses."""

    numbers = (202,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.open: list[tuple[weakref.ref, list[bool], Event, int]] = []
        self.unused = 0

    def on_forward(self, event: Event) -> None:
        if event.depth or event.training or not event.grad:
            return
        self._sweep(False)
        output = next((t for t in tensors(event.output) if t.grad_fn is not None), None)
        if output is None or event.subject is None:
            return
        node, graph = output.grad_fn, _Graph()
        node.metadata["torchsan.unused"] = graph
        node.register_prehook(_marks(graph.used))
        event.where()
        self.open.append((weakref.ref(graph), graph.used, event, self.ledger.step))

    def on_loader_end(self, event: Event) -> None:
        self._sweep(False)

    def on_optimizer_step(self, event: Event) -> None:
        if self.open:
            self._sweep(False)

    def finish(self) -> None:
        self._sweep(True)

    def _sweep(self, last: bool) -> None:
        """Count graphs that are gone, or were overtaken by a step, and that no backward went through."""
        still = []
        for entry in self.open:
            graph, used, event, step = entry
            if used[0]:
                continue
            if graph() is None or last or self.ledger.step > step:
                self.unused += 1
                if self.unused >= _UNUSED:
                    name = name_of(event.subject)
                    self.found(202, event, call=f"{name or 'model'}(...)", model=name)
            else:
                still.append(entry)
        self.open = still


def _marks(used: list[bool]) -> Any:
    def mark(grads: Any) -> None:
        used[0] = True

    return mark


class MissingTrain(Check):
    """After an evaluation the model is never put back in training mode.

    Where it never was in training mode, that may be meant: batch norm is frozen so, and a head alone is trained on a
    body that stays as it is. A model that is trained as a whole, over and over, with all its dropout off, is neither.
    """

    numbers = (203,)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.latest: dict[int, Event] = self.ledger.while_alive({})
        self.used: dict[int, Event] = self.ledger.while_alive({})
        self.trained: dict[int, weakref.ref] = self.ledger.while_alive({})
        self.evaluated: dict[int, Event] = self.ledger.while_alive({})  # the first forward of a model that had no gradients
        self.never: dict[int, int] = self.ledger.while_alive({})  # steps of models that never were in training mode

    def on_forward(self, event: Event) -> None:
        if event.depth == 0 and mode_layers(event.subject):
            if event.grad:
                event.where()
                self.latest[id(event.subject)] = event
            elif not event.training and id(event.subject) not in self.evaluated:
                event.where()
                self.evaluated[id(event.subject)] = event

    def on_backward(self, event: Event) -> None:
        for account in event.reached:
            of_it = [f for f in self.latest.values() if f.subject is not None and _shares(account, f.subject)]
            if of_it:
                self.used[id(account)] = max(of_it, key=lambda forward: forward.number)

    def before_optimizer_step(self, event: Event) -> None:
        account = self.ledger.account(event.subject)
        forward = self.used.pop(id(account), None)
        module = None if forward is None else forward.subject
        if module is None:
            return
        if forward.training:
            self.trained[id(module)] = weakref.ref(module)
        elif id(module) in self.trained and self.trained[id(module)]() is module:
            layers = sorted({type(layer).__name__ for layer in mode_layers(module) if not layer.training})
            if layers:
                self.found(
                    203,
                    forward,
                    model=name_of(module),
                    fact=f"in evaluation mode: {', '.join(layers)}",
                    related=((event, "the step that trains it"),),
                )
        else:
            self._never_in_training(module, account, forward, event)

    def _never_in_training(self, module: nn.Module, account: Account, forward: Event, step: Event) -> None:
        steps = self.never[id(module)] = self.never.get(id(module), 0) + 1
        if steps != _NEVER:
            return
        dropout = [layer for layer in mode_layers(module) if is_dropout(layer)]
        if not dropout or any(layer.training for layer in dropout) or not _is_trained_whole(module, account):
            return
        before = self.evaluated.get(id(module))
        evaluated = () if before is None or before.subject is not module else (
            (before, "evaluated here, and not put in training mode since"),
        )
        layers = sorted({type(layer).__name__ for layer in dropout})
        self.found(
            203,
            forward,
            model=name_of(module),
            fact=f"{steps} steps, and {', '.join(layers)} never on",
            related=(*evaluated, (step, "the step that trains it")),
            words=FROM_THE_START,
        )


def _is_trained_whole(module: nn.Module, account: Account) -> bool:
    """Whether the optimizer has most of a model, down to the parts in which its dropout is."""
    parameters = list(module.parameters())
    trained = [p for p in parameters if p.requires_grad and id(p) in account.ids]
    return 2 * sum(p.numel() for p in trained) > sum(p.numel() for p in parameters)


def _shares(account: Account, module: nn.Module) -> bool:
    return any(id(p) in account.ids for p in module.parameters())


CHECKS = (MissingEval, MissingNoGrad, MissingTrain)
