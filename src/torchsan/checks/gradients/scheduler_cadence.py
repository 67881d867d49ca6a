"""110, 111: a learning-rate schedule that is never stepped, or stepped in another unit than it counts in."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from types import ModuleType
from typing import Any

from torch.optim import lr_scheduler

from torchsan.check import Check
from torchsan.own import re, weakref
from torchsan.program.lines import line_of
from torchsan.program.naming import name_of
from torchsan.program.source import tree_of
from torchsan.program.where import _USER, Where, kind_of
from torchsan.stream.events import Event

_MANY = 64  # schedules, before those that are gone are forgotten
_STEPS = 2  # steps of an optimizer after which its schedule is missed
_LENGTHS = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps", "PolynomialLR": "total_iters"}
_KINDS = {name for name, cls in vars(lr_scheduler).items() if isinstance(cls, type)}
# What else than a schedule people call `.step()` on, by the names that they give it.
_OTHERS = re.compile(r"opt|adam|sgd|solver|trainer|scaler|prof|env|accelerator|engine|model|agent|sampler", re.I)


class _Schedule:
    """A scheduler that was built while the watch runs, and the optimizer whose rate it is to move."""

    def __init__(self, event: Event):
        self.event = event
        self.subject = weakref.ref(event.subject)
        self.optimizer = weakref.ref(event.optimizer)
        self.kind = type(event.subject).__name__
        key = _LENGTHS.get(self.kind)
        self.length = getattr(event.subject, key, 0) if key else 0
        self.words = f"{key}={self.length}"
        self.last: Event | None = None  # its last step
        self.count = 0
        self.in_pass = 0  # its steps in the pass over a loader that is going on
        self.used: Event | None = None  # the optimizer's last step that was heard
        self.steps = 0  # of the optimizer, as far as they were heard


class Schedules(Check):
    """A learning-rate schedule is not followed."""

    numbers = (110, 111)

    def __init__(self, watch: Any):
        super().__init__(watch)
        self.made: list[_Schedule] = []
        self.of: dict[int, _Schedule] = {}  # by id of an optimizer: the schedule that was built last for it
        self.began: dict[int, int] = {}  # by id of a loader: the steps before its pass
        self.stepped: set[tuple[Where, Where]] = set()  # schedules that the text of the program steps, by two lines
        self.passes: dict[int, tuple[int, int]] = {}  # by id of a loader: passes that trained, and its batches

    def on_scheduler_create(self, event: Event) -> None:
        if event.optimizer is not None:
            event.where()
            made = _Schedule(event)
            self.made.append(made)
            if len(self.made) > _MANY:
                self._forget()
            self.of[id(event.optimizer)] = made

    def _forget(self) -> None:
        """Of schedules that are gone, the first of each line is enough: a program may build one for every model."""
        places, kept = set(), []
        for made in self.made:
            place = made.event.where()
            if made.subject() is not None or place not in places:
                kept.append(made)
                places.add(place)
        self.made = kept
        ids = set(map(id, kept))
        self.of = {key: made for key, made in self.of.items() if id(made) in ids}

    def on_scheduler_step(self, event: Event) -> None:
        # A schedule that is made of others steps them itself.
        steps = [event.subject, *getattr(event.subject, "_schedulers", ())]
        for made in self.made:
            if any(made.subject() is one for one in steps):
                made.last = event
                made.count += 1
                made.in_pass += 1

    def on_optimizer_step(self, event: Event) -> None:
        made = self.of.get(id(event.subject))
        if made is not None and made.optimizer() is event.subject:
            made.steps += 1
            made.used = event

    def on_loader_iterate(self, event: Event) -> None:
        if self.made:
            self.began[id(event.subject)] = self.ledger.step
            for made in self.made:
                made.in_pass = 0

    def on_loader_end(self, event: Event) -> None:
        before = self.began.pop(id(event.subject), None)
        if before is None or before == self.ledger.step:
            return
        try:
            batches = len(event.subject)
        except (TypeError, NotImplementedError):
            return
        self.passes[id(event.subject)] = self.passes.get(id(event.subject), (0, 0))[0] + 1, batches
        for made in self.made:
            # Within one pass a cosine comes to its end, and all the way back.
            if made.kind == "CosineAnnealingLR" and made.in_pass >= batches and made.in_pass >= 2 * made.length > 0:
                fact = f"{made.in_pass} steps in one pass over the loader: the rate falls to its end and rises again"
                self._say_unit(made, "epochs", "batch", fact)

    def _say_unit(self, made: _Schedule, unit: str, each: str, fact: str) -> None:
        place = made.event.where()
        name = name_of(made.subject()) or (_target(place) if place is not None else None) or "scheduler"
        self.found(
            111, made.last, scheduler=name, unit=unit, length=made.words, call=f"{name}.step()", each=each, fact=fact,
            related=((made.event, "where its length is given"),), details={"length": made.length},
        )

    def finish(self) -> None:
        for made in self.made:
            if made.last is not None:
                self._too_slow(made)
        for made in self.of.values():
            self._never(made)

    def _too_slow(self, made: _Schedule) -> None:
        """As long as all batches of all passes, and stepped once for each pass."""
        for passes, batches in self.passes.values():
            if made.length == passes * batches and made.count == passes > 1 and batches > 1:
                fact = f"{made.count} steps in {passes} passes over {batches} batches each"
                self._say_unit(made, "batches", "epoch", fact)

    def _never(self, made: _Schedule) -> None:
        # Another schedule may move this optimizer's rate until this one's turn comes.
        if any(other.last is not None and _same(other, made) for other in self.made):
            return
        place, step = made.event.where(), made.used.where() if made.used is not None else None
        if place is None or step is None or made.steps < _STEPS or not _by_hand(step):
            return
        if (place, step) in self.stepped:
            return
        if _stepped_in_text(place, step, self._known_targets()):
            self.stepped.add((place, step))
        else:
            self.found(
                110,
                made.event,
                scheduler=name_of(made.subject()) or _target(place) or made.kind,
                optimizer=name_of(made.optimizer()) or _first_argument(place),
                fact=f"{self.ledger.step} steps of the optimizer, and none of {made.kind}",
                related=((step, "the optimizer's step, which no step of the schedule follows"),),
            )

    def _known_targets(self) -> set[str]:
        """What the schedules that are stepped are called."""
        places = [made.event.where() for made in self.made if made.last is not None]
        return {_last_word(name) for place in places if place is not None and (name := _target(place)) is not None}


def _same(one: _Schedule, other: _Schedule) -> bool:
    return one.optimizer() is not None and one.optimizer() is other.optimizer()


def _by_hand(place: Where) -> bool:
    """Whether a line calls `step` itself; a trainer's caller does not."""
    return ".step" in line_of(place.code.co_filename, place.line)


def _last_word(name: str) -> str:
    return re.split(r"\W+", name.rstrip("]"))[-1]


def _built_at(place: Where) -> ast.Call | None:
    """The call on a line that builds a schedule of torch's."""
    tree = tree_of(place.code.co_filename)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and node.lineno <= place.line <= (node.end_lineno or node.lineno):
            if _last_word(ast.unparse(node.func)) in _KINDS:
                return node
    return None


@lru_cache(maxsize=64)
def _target(place: Where) -> str | None:
    """The name that the schedule that is built on a line is assigned to, if it is that and nothing else."""
    tree, call = tree_of(place.code.co_filename), _built_at(place)
    for node in ast.walk(tree) if tree is not None and call is not None else ():
        if isinstance(node, ast.Assign) and node.value is call and len(node.targets) == 1:
            return ast.unparse(node.targets[0])
    return None


def _first_argument(place: Where) -> str | None:
    """What a schedule that is built on a line is given first: its optimizer, by the user's name for it."""
    call = _built_at(place)
    first = call.args[0] if call is not None and call.args else None
    return ast.unparse(first) if isinstance(first, (ast.Name, ast.Attribute)) else None


def _stepped_in_text(place: Where, step: Where, others: set[str]) -> bool:
    """Whether the program steps anything that may be this schedule: then it may be a condition that never came true.
    Names that are those of optimizers and the like, or of schedules that are stepped, are not. True also where the
    schedule is handed on, or where there is no text to look at."""
    target = _target(place)
    if target is None:
        return True
    name = _last_word(target)
    for file in _program({place.code.co_filename, step.code.co_filename}):
        tree = tree_of(file)
        if tree is None:
            return True
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "step":
                word = _last_word(ast.unparse(node.value))
                if word == name or not (_OTHERS.search(word) or word in others):
                    return True
    return False


def _program(files: set[str]) -> set[str]:
    """These files, and all of the user's that import them or are imported by them, near or far."""
    modules = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and kind_of(file) == _USER:
            modules[module.__name__] = module, file
    near: dict[str, set[str]] = {name: set() for name in modules}
    for name, (module, _) in modules.items():
        for value in list(vars(module).values()):
            other = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(other, str) and other in modules:
                near[name].add(other)
                near[other].add(name)
    todo = [name for name, (_, file) in modules.items() if file in files]
    seen = set(todo)
    while todo:
        for other in near[todo.pop()] - seen:
            seen.add(other)
            todo.append(other)
    return files | {modules[name][1] for name in seen}


CHECKS = (Schedules,)
