"""Of a model of very many parameters the first looks are further apart, and what is told of them is as true."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import torchsan
from torchsan import checks
from torchsan.checks.course import recorder
from torchsan.checks.modules import silent_units
from torchsan.stream import ledger


class Looks(recorder.Recorder):
    """Keeps what it is told."""

    def start(self):
        super().start()
        self.looks = []
        self.hear(self, self.looks.append)


@pytest.fixture
def looks(monkeypatch):
    monkeypatch.setattr(recorder, "_MANY", 4)
    monkeypatch.setattr(recorder, "_LAYERS", 2)
    known = checks.known()
    monkeypatch.setattr("torchsan.watcher.known", lambda: (*(c for c in known if c is not recorder.Recorder), Looks))

    def of(level):
        torch.manual_seed(0)
        model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        norms = []
        with torchsan.watch(model, on_finding="collect", level=level) as san:
            for _ in range(40):
                optimizer.zero_grad()
                model(torch.randn(3, 4)).square().sum().backward()
                norms.append(torch.cat([p.grad.flatten() for p in model.parameters()]).norm().item())
                optimizer.step()
            check = next(c for c in san.checks if type(c) is Looks)
            assert not san.off
        return check.looks, norms

    return of


def test_looks_are_further_apart_and_norms_are_of_all(looks):
    told, norms = looks("default")
    assert [look.step for look in told] == [0, 4, 16, 32]
    for look in told:
        assert look.norm == pytest.approx(norms[look.step], rel=1e-5)
    known = [[at for at, norm in enumerate(look.gradients) if norm is not None] for look in told]
    assert known == [[0, 3], [0, 3], [0, 3], [0, 1, 2, 3, 4, 5]]
    assert all(look.ratios[0] > 0 for look in told)


def test_who_asks_to_look_closer_gets_all(looks):
    told, _ = looks("thorough")
    assert [look.step for look in told] == list(range(40))
    assert all(None not in look.gradients for look in told)


def test_gradients_that_are_kept_are_told_of_those_looked_at(monkeypatch):
    monkeypatch.setattr(ledger, "_MANY", 2)
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(4):
            model(torch.randn(3, 4)).square().sum().backward()
            optimizer.step()
    told = [finding for finding in san.findings if finding.number == 101]
    assert len(told) == 1 and "2 of 2 parameters looked at, of 12 in all" in told[0].message


def test_activations_that_are_followed_are_the_first(monkeypatch):
    monkeypatch.setattr(silent_units, "_MOST", 2)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3))
            self.last = nn.Linear(4, 1)
            nn.init.constant_(self.layers[1][0].bias, -50)
            self.relus = []

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
                self.relus.append(torch.relu is relu)
            return self.last(x)

    relu, model = torch.relu, Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(150):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            optimizer.step()
        assert not san.off
        series = set(san.series.of("dead"))
    assert model.relus[:3] == [False, True, True]  # two are enough: torch's own is back for the third
    assert series == {"layers.0.1", "layers.1.1"}
    assert ["layers.1.1" in finding.message for finding in san.findings if finding.number == 516] == [True]


class Root(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(6))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.clamp(min=0).sum(1).sqrt().sum()  # <- 422


@pytest.mark.parametrize("many", [2, 4096])
def test_a_gradient_that_is_not_finite_is_found_among_some(monkeypatch, many):
    monkeypatch.setattr(ledger, "_MANY", many)
    model = Root()
    nn.init.constant_(model.layers[-1].weight, 0)
    nn.init.constant_(model.layers[-1].bias, -0.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with torchsan.watch(model, on_finding="collect") as san:
        model(torch.ones(3, 4)).backward()
        optimizer.step()
    (told,) = san.findings
    assert told.number == 422 and "sqrt" in told.message and "of 12 parameters" in str(told)
