"""Of a model of very many parameters the first looks are further apart, and what is told of them is as true."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import torchsan
from torchsan import checks
from torchsan.checks.course import recorder


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
            for _ in range(20):
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
    assert [look.step for look in told] == [0, 1, 2, 4, 8, 16]
    for look in told:
        assert look.norm == pytest.approx(norms[look.step], rel=1e-5)
    known = [[at for at, norm in enumerate(look.gradients) if norm is not None] for look in told]
    assert known == [[0, 3], [0, 3], [0, 3], [0, 1, 2, 3, 4, 5], [0, 3], [0, 3]]
    assert all(look.ratios[0] > 0 for look in told)


def test_who_asks_to_look_closer_gets_all(looks):
    told, _ = looks("thorough")
    assert [look.step for look in told] == list(range(20))
    assert all(None not in look.gradients for look in told)
