"""210, 211: a model that only says what another one is to learn runs in training mode, or builds a graph for nothing."""

from __future__ import annotations

from typing import Any

from torch import nn

from torchsan.check import Check
from torchsan.checks.modes.train_and_eval import estimates
from torchsan.own import torch, weakref
from torchsan.program.autograd_graph import nodes
from torchsan.program.layers import mode_layers, tensors
from torchsan.program.naming import name_of
from torchsan.program.shards import local
from torchsan.stream.events import Event

_STEPS = 3  # steps in which it was the same: by then a moving average has moved
_LOOKED_AT = 4  # parameters, the first and the last ones
_DEEP = 40  # nodes between the target of a loss and a teacher's output
_OVER = 50  # forwards after which nothing new is looked at


class _Teacher:
    """What is known of a model that no optimizer has."""

    def __init__(self, module: nn.Module):
        self.module = weakref.ref(module)
        self.before = _sample(module)
        self.given: weakref.ref | None = None  # the input of the last call
        self.step = -1  # of the last call
        self.taught: set[int] = set()  # steps in which a model that learns had the very same input, or it was a target
        self.graphs: set[int] = set()  # steps in which a loss had its output, with its graph, as a target
        self.forward: Event | None = None
        self.loss: Event | None = None
        self.is_other = False  # it is no teacher


class Teachers(Check):
    """A model that no optimizer has, whose output is only a target."""

    numbers = (210, 211)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.known: dict[int, _Teacher] = {}
        self.outputs: dict[int, tuple[weakref.ref, _Teacher]] = {}
        self.learners: list[tuple[weakref.ref, int]] = []  # inputs of models that learn, in this step

    def before_forward(self, event: Event) -> None:
        if event.depth == 0 and self.outputs:
            for given in tensors((event.args, event.kwargs)):
                found = self.outputs.get(id(given))
                if found is not None and found[0]() is given:
                    found[1].is_other = True  # its output goes into another model: it is a part of that

    def on_forward(self, event: Event) -> None:
        if event.depth or self.ledger.step >= _OVER:
            return
        module, given = event.subject, next(tensors((event.args, event.kwargs)), None)
        first = next(module.parameters(), None)
        if given is None or first is None:
            return
        if any(id(first) in account.ids for account in self.ledger) or self.ledger.of(module.parameters()):
            if event.training and event.grad:
                self.learners.append((weakref.ref(given), self.ledger.step))
                for teacher in self.known.values():
                    quiet = teacher.forward is not None and not teacher.forward.grad  # with a graph it may be anything: a loss will say
                    if quiet and teacher.step == self.ledger.step and teacher.given is not None and teacher.given() is given:
                        teacher.taught.add(self.ledger.step)
            return
        if not self.ledger.accounts:
            return
        teacher = self.known.get(id(module))
        if teacher is None or teacher.module() is not module:
            teacher = self.known[id(module)] = _Teacher(module)
        again = teacher.step == self.ledger.step and teacher.given is not None and teacher.given() is given
        if again or given.requires_grad or estimates(module):
            teacher.is_other = True  # the same input twice in a step is an estimate; gradients through it are a loss's
        event.where()
        teacher.forward, teacher.given, teacher.step = event, weakref.ref(given), self.ledger.step
        if not event.grad and any(ref() is given and step == teacher.step for ref, step in self.learners):
            teacher.taught.add(teacher.step)
        for output in tensors(event.output):
            self.outputs[id(output)] = weakref.ref(output), teacher
            if output.grad_fn is not None:
                output.grad_fn.metadata["torchsan.teacher"] = weakref.ref(teacher)

    def before_loss(self, event: Event) -> None:
        target = event.target
        if not self.known or not isinstance(target, torch.Tensor) or not isinstance(event.input, torch.Tensor):
            return
        if event.input.grad_fn is None:
            return
        found = self.outputs.get(id(target))
        if found is not None and found[0]() is target:
            found[1].taught.add(self.ledger.step)
        if target.grad_fn is not None:
            for node in nodes([target.grad_fn], _DEEP):
                teacher = (node.metadata.get("torchsan.teacher") or _nobody)()
                if teacher is not None:
                    event.where()
                    teacher.graphs.add(self.ledger.step)
                    teacher.taught.add(self.ledger.step)
                    teacher.loss = event
                    return

    def on_optimizer_step(self, event: Event) -> None:
        self.outputs.clear()
        self.learners.clear()
        for key, teacher in list(self.known.items()):
            module = teacher.module()
            if module is None:
                del self.known[key]
            elif len(teacher.taught) >= _STEPS:
                self._judge(teacher, module)
                teacher.taught, teacher.graphs = set(), set()

    def _judge(self, teacher: _Teacher, module: nn.Module) -> None:
        forward = teacher.forward
        if teacher.is_other or forward is None or any(True for _ in self.ledger.of(module.parameters())):
            return
        if not all(torch.equal(one, other) for one, other in zip(teacher.before, _sample(module))):
            return  # it follows the model that learns: a moving average, MoCo's keys, a target network
        name = name_of(module) or "teacher"
        layers = sorted({type(layer).__name__ for layer in mode_layers(module) if layer.training})
        if layers:
            self.found(210, forward, model=name, fact=f"in training mode: {', '.join(layers)}")
        if len(teacher.graphs) >= _STEPS and any(p.grad is not None for p in module.parameters()):
            count = sum(p.grad is not None for p in module.parameters())
            related = () if teacher.loss is None else ((teacher.loss, "its output is the target of this loss"),)
            self.found(211, forward, model=name, fact=f"{count} parameters with a gradient, in no optimizer", related=related)


def _nobody() -> None:
    return None


def _sample(module: nn.Module) -> list[torch.Tensor]:
    """A few numbers of a model's first and last parameters."""
    found = [p for p in module.parameters() if p.is_floating_point()]
    return [local(p).detach().flatten()[:16].clone() for p in [*found[:_LOOKED_AT], *found[_LOOKED_AT:][-_LOOKED_AT:]]]


CHECKS = (Teachers,)
