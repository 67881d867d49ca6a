"""What a program has of its own around tensors and torch works as without a watch: modes, subclasses, strange values,
warnings, scripts."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import torchsan

LEVELS = ["default", "thorough"]


class Net(nn.Module):
    def __init__(self, more=None):
        super().__init__()
        self.first, self.norm, self.dropout = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1)
        self.last = nn.Linear(8, 2)
        self.__dict__["more"] = more

    def forward(self, x, more=None):
        return self.last(self.dropout(torch.relu(self.norm(self.first(x))))), self.more


def train(more=None, steps=10):
    model = Net(more)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(8, 4), more)[0], torch.randint(0, 2, (8,)))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(8, 4))


class Dispatched(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls.append(str(function))
        return function(*args, **(kwargs or {}))


class Called(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.calls.append(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", [Dispatched, Called])
def test_a_mode_of_the_program_sees_the_program_alone(kind, level):
    with kind() as plain:
        train()
    with torchsan.watch(on_finding="collect", level=level) as san, kind() as watched:
        train()
    assert watched.calls == plain.calls
    assert not san.off and not san.findings, (san.off, san.findings)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.mixed, self.out = nn.Embedding(9, 8), nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 9)

    def forward(self, ids):
        x = self.rows(ids)
        scores = (x @ x.transpose(1, 2)).masked_fill(torch.ones(5, 5).triu(1).bool(), -1e9)
        x = x + F.softmax(scores, dim=-1) @ x
        return self.out(x + self.mixed(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(5))[0])


def train_on_text(steps=6):
    model = Language()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(steps):
        ids = torch.randint(0, 9, (4, 6))
        optimizer.zero_grad()
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()


def train_in_vain():
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(8):
        optimizer.zero_grad()
        torch.round(model(torch.randn(8, 4))).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("program", [train_on_text, train_in_vain])
@pytest.mark.parametrize("kind", [Dispatched, Called])
def test_looks_at_gradients_and_softmaxes_are_not_seen_either(kind, program):
    with kind() as plain:
        program()
    with torchsan.watch(on_finding="collect") as san, kind() as watched:
        program()
    assert watched.calls == plain.calls and not san.off


class Asked(torch.Tensor):
    calls: list[str] = []

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls.append(getattr(function, "__name__", ""))
        return super().__torch_function__(function, types, args, kwargs)


@pytest.mark.parametrize("level", LEVELS)
def test_a_class_of_tensors_is_asked_by_the_program_alone(level):
    counts = []
    for watched in (False, True):
        Asked.calls.clear()
        with torchsan.watch(on_finding="collect", level=level) if watched else warnings.catch_warnings():
            train(torch.ones(3).as_subclass(Asked))
        counts.append(len(Asked.calls))
    assert counts[0] == counts[1]


class Answers:
    def __getattr__(self, name):
        raise RuntimeError(name)


class Compares:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError

    __bool__ = __len__ = __iter__ = __repr__ = lambda self: 1 / 0


class Computes(dict):
    values = items = keys = __iter__ = lambda self: 1 / 0


class Walks(list):
    __iter__ = __len__ = __getitem__ = lambda self, *args: 1 / 0


class Pretends:
    @property
    def __class__(self):
        raise RuntimeError


@dataclasses.dataclass
class Hides:
    value: int = 0

    def __getattribute__(self, name):
        raise RuntimeError(name)


class Refuses(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError(function)


STRANGE = [  # made when they are needed: others look at all that is alive
    Answers, Compares, lambda: Computes(a=1), lambda: Walks([1]), lambda: (Pretends(),), lambda: (Hides(),),
    lambda: torch.ones(3).as_subclass(Refuses),
]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("at", range(len(STRANGE)))
def test_a_strange_value_in_a_model_and_its_output(at, level):
    with torchsan.watch(on_finding="collect", level=level) as san:
        train(STRANGE[at]())
    # A plain tensor that a model uses is TS502, of whatever class it is.
    assert not san.off and {finding.code for finding in san.findings} <= {"TS502"}, san.off


def warned():
    """Warnings of torch's that are told at the caller's line."""
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    x = torch.randn(8, 4)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scheduler.step()
        scheduler.step(3)
        torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer).step(1.0, epoch=3)
        F.mse_loss(model(x), torch.randn(8, 1))
        F.softmax(x)
        F.kl_div(model(x), torch.rand(8, 2))
        model.state_dict({}, "")
    return [(one.filename, one.lineno) for one in seen]


@pytest.mark.parametrize("level", LEVELS)
def test_warnings_of_torch_stand_at_the_line_of_the_program(level):
    plain = warned()
    with torchsan.watch(on_finding="collect", level=level):
        watched = warned()
    assert watched == plain and {file for file, _ in plain} == {__file__} and len(plain) >= 7


def test_a_model_that_ran_is_scripted():
    with torchsan.watch(on_finding="collect") as san:
        model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
        x = torch.randn(2, 4)
        expected = model(x)
        scripted = torch.jit.script(model)
        assert torch.equal(scripted(x), expected)
        assert not scripted._forward_hooks and model._forward_hooks
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):  # it is still seen
            F.cross_entropy(model(x).softmax(1), torch.tensor([0, 1])).backward()
            optimizer.step()
    assert "TS301" in [finding.code for finding in san.findings] and not san.off
    assert not model._forward_hooks
