"""At rest the hook that tells how a forward ends is out of the model's tables, and nobody is the worse for it."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn

import torchsan
from torchsan import check, checks
from torchsan.probes import modules
from torchsan.stream import events, hooks_at_rest

TABLES = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks")


class Forwards(check.Check):
    """Keeps the forwards that it hears of: the class, how deep, and whether an output came."""

    numbers = (999,)

    def __init__(self, watch):
        super().__init__(watch)
        self.heard, self.made = [], []

    def on_forward(self, event):
        self.heard.append((type(event.subject).__name__, event.depth, event.output is not None))

    def on_parameter_create(self, event):
        self.made.append(type(event.parameter).__name__)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.inside = lambda: None

    def forward(self, x):
        y = self.layer(x)
        self.inside()
        return y


@pytest.fixture
def resting(monkeypatch):
    """A watch over a tiny model at rest, at the beginning of a step: the watch, the check, the model, a step."""
    known = checks.known()
    monkeypatch.setattr("torchsan.watcher.known", lambda: (*known, Forwards))
    monkeypatch.setattr(hooks_at_rest, "compiled_frames", lambda: 0)  # by other tests of the process
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    before = tables(model)

    def step():
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()

    with torchsan.watch(model, on_finding="collect") as san:
        for _ in range(80):
            step()
        assert events.rest.asleep and events.rest.at == 0
        heard = next(one for one in san.checks if type(one) is Forwards)
        heard.heard.clear()
        yield san, heard, model, step
    assert not san.off
    assert tables(model) == before


def tables(model):
    return {name: list(getattr(model, name)) for name in TABLES}


def has_ours(model):
    ours = [hook is modules._after_hook for hook in model._forward_hooks.values()]
    assert all((len(model._forward_hooks_with_kwargs) == sum(ours), len(model._forward_hooks_always_called) == sum(ours)))
    return any(ours)


def test_it_is_out_at_rest_and_in_its_place_again_afterwards(resting):
    san, heard, model, step = resting
    called = []
    first = model.register_forward_hook(lambda *_: called.append("first"))
    assert not has_ours(model) and not modules._state.open
    step()
    assert called == ["first"] and not heard.heard
    model.inside = lambda: torch.optim.SGD(model.parameters(), lr=0.01)  # wakes the checks
    step()
    assert not events.rest.asleep and has_ours(model) and not modules._state.open
    assert heard.heard == [] and [*model._forward_hooks.values()][0] is modules._after_hook
    model.inside = lambda: None
    step()
    assert heard.heard == [("Model", 0, True)]
    first.remove()


def test_hooks_of_the_users_keep_their_order(resting):
    san, heard, model, step = resting
    events.rest.wake()
    handles = [model.register_forward_hook(lambda *_: None) for _ in range(3)]
    order = list(model._forward_hooks)
    while not events.rest.asleep:
        step()
    assert list(model._forward_hooks) == order[1:]
    events.rest.wake()
    assert list(model._forward_hooks) == order
    for handle in handles:
        handle.remove()


def test_what_is_called_inside_of_a_forward_knows_how_deep_it_is(resting):
    san, heard, model, step = resting
    other = nn.Linear(4, 2)
    modules.add([other])
    model.inside = lambda: other(torch.randn(8, 4))
    step()
    assert heard.heard == [("Linear", 1, True)]  # the model's own was begun at rest
    step()
    assert heard.heard[1:] == [("Linear", 1, True), ("Model", 0, True)]


def test_a_parameter_that_is_made_inside_of_a_forward_is_told(resting):
    san, heard, model, step = resting
    model.inside = lambda: setattr(model, "late", nn.Parameter(torch.zeros(1)))
    step()
    assert heard.made == ["Parameter"] and not modules._state.open


def test_a_forward_that_fails_leaves_nothing_behind(resting):
    san, heard, model, step = resting

    def fails():
        raise KeyboardInterrupt

    model.inside = fails
    with pytest.raises(KeyboardInterrupt):
        step()
    model.inside = lambda: None
    for _ in range(3):
        step()
    assert not modules._state.open and heard.heard[-1] == ("Model", 0, True)


@pytest.mark.parametrize("made", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_that_was_made_at_rest_is_heard_too(resting, made):
    san, heard, model, step = resting
    model.inside = None
    other = made(model)
    model.inside = other.inside = lambda: None
    with torch.no_grad():
        other(torch.randn(8, 4))
    is_copy = made is copy.deepcopy  # a pickled one is known where its first parameters are registered
    assert heard.heard == [("Model", 0, True)] * is_copy and has_ours(other) is is_copy
    modules._take_down()
    assert not any(tables(other).values())


def test_a_model_that_is_no_longer_watched_gets_nothing_back(resting):
    san, heard, model, step = resting
    modules.remove([model])
    events.rest.wake()
    assert not any(tables(model).values())
    modules.add([model])


def test_where_something_is_compiled_tables_stay_as_they_are(resting, monkeypatch):
    san, heard, model, step = resting
    events.rest.wake()
    monkeypatch.setattr(hooks_at_rest, "compiled_frames", lambda: 1)
    while not events.rest.asleep:
        step()
    assert has_ours(model)
    step()
    assert events.rest.asleep
