"""A training program that makes every kind of event, and faults put into the checks that watch it."""

from __future__ import annotations

import copy
import gc
import importlib
import inspect
import io
import pkgutil
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import torchsan
from torchsan import check, checks

MESSAGE = "a fault of the check's own"
WITHOUT_PASSES = "'Watch' object has no attribute 'passes'"  # what checks of loaders say where that of the passes cannot start
_NONE = object()


class Net(nn.Module):
    """A small model with something of everything that checks look at."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.ones(8)  # 502
        self.conv, self.norm = nn.Conv1d(4, 8, 3, padding=1), nn.BatchNorm1d(8)
        self.lstm = nn.LSTM(8, 8)
        self.drop, self.out = nn.Dropout(0.2), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.conv(x))).transpose(1, 2) * self.scale
        with torch.autocast("cpu", enabled=False):  # oneDNN has no LSTM in bfloat16 on some processors
            x, _ = self.lstm(x.float())
        x = torch.tanh(x[:, -1])
        x = F.dropout(x, 0.1)  # 204
        return self.out(self.drop(torch.sigmoid(x)))


def train(steps: int = 6) -> list[Any]:
    """Training, right and wrong, evaluation, saving; gives what could differ afterwards."""
    for seed in (torch.manual_seed, random.seed, numpy.random.seed):
        seed(7)
    model = Net()
    weights, biases = [p for p in model.parameters() if p.dim() > 1], [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": weights}, {"params": biases, "weight_decay": 0.0}], lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
    data = TensorDataset(torch.randn(24, 4, 5), torch.randint(0, 3, (24,)))
    loader = DataLoader(data, batch_size=4, shuffle=True)
    losses, total = [], 0.0
    handle = model.norm.register_forward_hook(lambda module, args, output: None)
    for epoch in range(2):
        model.train()
        for step, (x, y) in enumerate(loader):
            if step == steps:
                break
            if epoch == 0:
                optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=step % 2 == 1):
                output = model(x)
                loss = F.cross_entropy(output.float(), y)
            if epoch == 1 and step in (2, 4):
                loss = loss + torch.log(output.float().sum() * 0).clamp(max=0)  # 422
            total += loss
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.detach())
        scheduler.step()
        with torch.no_grad():
            model.eval()
            for x, y in loader:
                losses.append(F.mse_loss(model(x)[:, 0], y.float()))
    handle.remove()
    best = copy.deepcopy(model)
    model.load_state_dict(best.state_dict())
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    plain(losses)
    gradients = [p.grad for p in model.parameters()]
    state = [value for one in optimizer.state.values() for value in one.values()]
    generators = [torch.get_rng_state(), str(random.getstate()), str(numpy.random.get_state())]
    return [*losses, *model.state_dict().values(), *gradients, *state, *generators]


def plain(losses: list) -> None:
    """The loop of a tutorial, with a NaN at its end."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2), nn.Softmax(1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(6):
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        if step == 5:
            loss = loss / (y - y).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    try:
        F.cross_entropy(model(torch.randn(8, 4)), torch.full((8,), 7))
    except IndexError:
        pass


def same(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether two runs of `train` gave the same, bit for bit; NaN equals NaN."""
    return len(ours) == len(theirs) and all(
        torch.equal(a.nan_to_num(7.5), b.nan_to_num(7.5)) and torch.equal(a.isnan(), b.isnan())
        if isinstance(a, torch.Tensor) and a.is_floating_point() else str(a) == str(b) if a is None or
        isinstance(a, str) else torch.equal(a, b)
        for a, b in zip(ours, theirs)
    )


def methods(cls: type) -> list[str]:
    """The methods of a check, inherited ones too, as far as they are its own business."""
    own = [base for base in cls.__mro__ if base not in (check.Check, object)]
    names = {name for base in own for name, value in vars(base).items()
             if inspect.isfunction(value) or isinstance(value, staticmethod)}
    names -= {"_forget"}  # called where an object dies: Python itself tells of errors there
    return sorted(name for name in names if not name.startswith("__") or name == "__init__")


def modules() -> Iterator[Any]:
    """The modules of all checks."""
    for info in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}."):
        yield importlib.import_module(info.name)


def functions(module: Any) -> list[str]:
    """The functions of a module of checks."""
    return sorted(name for name, value in vars(module).items()
                  if inspect.isfunction(value) and value.__module__ == module.__name__)


def fails(*args: Any, **kwargs: Any) -> Any:
    """Stands in the place of a check's own."""
    raise ZeroDivisionError(MESSAGE)


@contextmanager
def replaced(places: list[tuple[Any, str]], by: Callable = fails) -> Iterator[None]:
    """These methods and functions fail."""
    before = [(owner, name, vars(owner).get(name, _NONE)) for owner, name in places]
    for owner, name in places:
        setattr(owner, name, staticmethod(by) if isinstance(vars(owner).get(name), staticmethod) else by)
    try:
        yield
    finally:
        for owner, name, value in before:
            delattr(owner, name) if value is _NONE else setattr(owner, name, value)


def rounds(*of: Callable[[Any], list[str]]) -> Iterator[list[tuple[Any, str]]]:
    """Everything of every check, once each: in a round, one of the `methods` of each, or the `functions` of each file.

    Args:
        of: `methods`, `functions`, or both.
    """
    for all_of in of:
        owners = checks.known() if all_of is methods else tuple(modules())
        names = {owner: all_of(owner) for owner in owners}
        for turn in range(max(map(len, names.values()))):
            yield [(owner, own[turn]) for owner, own in names.items() if turn < len(own)]


def fails_everywhere(places: list[tuple[Any, str]], bare: list[Any], level: str) -> None:
    """Run `train` under a watch whose checks fail in these places.

    Raises:
        AssertionError: it was not as without a watch, or a check that failed was not said once.
    """
    said = io.StringIO()
    with replaced(places), redirect_stderr(said):
        with torchsan.watch(on_finding="collect", level=level, select="ALL") as san:
            watched = train()
    assert same(bare, watched), places
    lines = said.getvalue().splitlines()
    causes = (MESSAGE, WITHOUT_PASSES) if "Passes" in san.off else (MESSAGE,)
    for name in san.off:
        told = [line for line in lines if line.startswith(f"torchsan: the check {name} ")]
        assert len(told) == 1 and told[0].endswith((f": ZeroDivisionError: {MESSAGE}", *causes[1:])), told
    assert all(line.endswith(causes) for line in lines), lines


def findings_in_a_loop(count: int, level: str = "default") -> tuple[int, Any]:
    """So many steps without zero_grad; how many objects there are more at the end than early, and the watch."""
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    objects = 0
    with torchsan.watch(model, on_finding="collect", level=level) as san:
        for step in range(count):
            if step == min(1000, count // 2):
                gc.collect()
                objects = len(gc.get_objects())
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        gc.collect()
        return len(gc.get_objects()) - objects, san


def tutorial() -> Callable[[], None]:
    """One step and its model; a tiny one, which is listened to in part."""
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        optimizer.step()

    return step


def ever_new() -> Callable[[], None]:
    """Models, optimizers, schedulers and loaders made anew all the time, evaluation, copies."""
    kept: list = []

    def step() -> None:
        model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        data = TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,)))
        for x, y in DataLoader(data, 4, shuffle=True):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            model(x)
        kept[:] = [copy.deepcopy(model)]

    return step


def uneven() -> Callable[[], None]:
    """Batches of changing size, two optimizers, accumulation, a scaler that skips, losses that are not finite."""
    model, head = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 2)
    optimizers = [torch.optim.AdamW(part.parameters(), lr=1e-3) for part in (model, head)]
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    count = [0]

    def step() -> None:
        count[0] += 1
        size = 4 + count[0] % 5
        for optimizer in optimizers:
            optimizer.zero_grad()
        for _ in range(2):
            loss = F.cross_entropy(head(model(torch.randn(size, 4))), torch.randint(0, 2, (size,))) / 2
            if count[0] % 7 == 0:
                loss = loss * float("inf")
            scaler.scale(loss).backward()
        for optimizer in optimizers:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()

    return step


# What of the program's must not stay. What checks keep of a model that is gone is small, and not counted here.
OF_THE_PROGRAM = ("Parameter", "Sequential", "Linear", "Dropout", "Adam", "StepLR", "DataLoader", "TensorDataset")
LOOPS = {"a tutorial's loop": tutorial, "ever new models": ever_new, "uneven steps": uneven}


def growth(make: Callable[[], Callable[[], None]], warm: int, steps: int, level: str = "default") -> Counter:
    """How many objects of each kind there are more of after `steps` steps than after `warm` ones, under one watch.

    What grows to a bound (the points of a series) is no growth: only what grew by a tenth of the steps counts.
    """
    torch.manual_seed(0)
    counts: list[Counter] = []
    with torchsan.watch(on_finding="collect", level=level) as san:
        step = make()
        for turn in range(warm + steps):
            if turn == warm:
                counts.append(_kinds())
            step()
        counts.append(_kinds())
    assert not san.off, san.off
    return Counter({kind: count for kind, count in (counts[1] - counts[0]).items() if count > steps / 10})


def _kinds() -> Counter:
    gc.collect()
    return Counter(type(one).__qualname__ for one in gc.get_objects())
