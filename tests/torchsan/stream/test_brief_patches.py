"""Functions of torch's that are replaced for one forward: whoever compiles, keeps or patches them notices nothing."""

from __future__ import annotations

import io
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import torchsan
from torchsan.checks.modules.silent_units import SilentUnits
from torchsan.stream import events
from torchsan.stream.brief_patches import Brief
from torchsan.stream.patches import Patches

PLACES = [(home, name) for home in (F, torch) for name in ("relu", "sigmoid", "tanh", "dropout")]


@pytest.fixture(autouse=True)
def untouched():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    before = [getattr(home, name, None) for home, name in PLACES]
    yield
    assert [getattr(home, name, None) for home, name in PLACES] == before
    assert not torch._dynamo.callback.callback_handler.start_callbacks
    torch._dynamo.reset()


class Net(nn.Module):
    """A model whose first forward is looked at; `inside` is called in it, with what an activation gave."""

    def __init__(self, inside=lambda x: x):
        super().__init__()
        self.a, self.b, self.inside = nn.Linear(4, 8), nn.Linear(8, 2), inside

    def forward(self, x):
        return self.b(self.inside(torch.relu(self.a(x))))


class Keeps(Net):
    """A model that keeps functions of torch's, one of them from within its first forward."""

    def __init__(self):
        super().__init__(self.build)
        self.layer, self.loss, self.functions = None, F.cross_entropy, [F.mse_loss]

    def build(self, x):
        if self.layer is None:
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "relu", batch_first=True)
        return self.layer(x)


def train(model, steps=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        optimizer.step()


def gate(x):
    return F.relu(x) * torch.sigmoid(x)


@pytest.mark.parametrize("when", ["in the look", "before the watch", "made in the look"])
def test_a_compiled_function_inside_of_the_model_is_compiled_once(when):
    compiled = torch.compile(gate, backend="eager")
    model = Net(compiled if when != "made in the look" else lambda x: torch.compile(gate, backend="eager")(x))
    if when == "before the watch":
        train(model, 1)
    with torchsan.watch(model, on_finding="collect") as san:
        train(model)
    assert not san.off and not san.findings, san.report()
    assert torch._dynamo.utils.counters["frames"] == {"total": 1, "ok": 1}
    assert not torch._dynamo.utils.counters["graph_break"]


def test_compiled_dropout_in_evaluation_is_compiled_once():
    class Drops(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5)

    model = torch.compile(Drops(), backend="eager").eval()
    with torchsan.watch(model, on_finding="collect") as san, torch.no_grad():
        for _ in range(6):
            model(torch.randn(4, 4))
    assert not san.off
    assert torch._dynamo.utils.counters["frames"] == {"total": 1, "ok": 1}


def test_a_model_is_looked_at_again_when_what_was_compiled_is_gone(monkeypatch):
    began = []
    monkeypatch.setattr(SilentUnits, "_replace", lambda self, patches: began.append(self.ledger.step))

    def other(x):
        return x + 1

    with torchsan.watch(on_finding="collect"):
        train(Net(), 2)
        torch.compile(other, backend="eager")(torch.ones(2))
        train(Net(), 2)
        assert began == [0, 1]
        del other
        torch._dynamo.reset()
        train(Net(), 5)
    assert len(began) > 2


def test_scripted_in_the_forward():
    def scripts(x):
        def mish(x: torch.Tensor) -> torch.Tensor:
            return x * torch.tanh(F.softplus(x)) + F.relu(x)

        return torch.jit.script(mish)(x)

    with torchsan.watch(on_finding="collect") as san:
        train(Net(scripts))
    assert not san.off


def test_scripted_losses():
    def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(x, y)

    x, y = torch.randn(4, 2), torch.tensor([0, 1, 1, 0])
    with torchsan.watch(on_finding="collect"):
        assert torch.equal(torch.jit.script(loss)(x, y), F.cross_entropy(x, y))
        torch.jit.script(nn.MSELoss())


def test_what_a_model_keeps_can_be_pickled_afterwards():
    with torchsan.watch(on_finding="collect"):
        model = Keeps()
        train(model)
        torch.save(model, io.BytesIO())
    torch.save(model, io.BytesIO())
    assert model.layer.activation is F.relu and model.loss is F.cross_entropy and model.functions == [F.mse_loss]


@pytest.mark.parametrize("stays", [False, True])
def test_patched_by_the_program_meanwhile(stays):
    original, below = F.relu, []

    def patch(x):
        if not below:
            below.append(F.relu)
            old = F.relu
            F.relu = lambda *args, **kwargs: old(*args, **kwargs)
            below.append(F.relu)
        return F.relu(x)

    with torchsan.watch(on_finding="collect") as san:
        try:
            train(Net(patch))
            assert F.relu is below[1] and F.relu.__closure__[0].cell_contents is original
            assert below[0] is original
            if not stays:
                F.relu = below[0]
        finally:
            if stays:
                F.relu = original
    assert not san.off


@pytest.mark.parametrize("error", [KeyboardInterrupt, ArithmeticError])
def test_interrupted(error):
    original, seen = torch.relu, []

    def interrupted(x):
        seen.append(torch.relu is original)
        if len(seen) == 1:
            raise error
        return x

    with torchsan.watch(on_finding="collect") as san:
        model = Net(interrupted)
        with pytest.raises(error):
            train(model)
        model.eval()
        model(torch.randn(2, 4))
        assert seen == [False, True]
        model.train()
        train(model)
    assert not san.off


def test_two_watches_and_threads():
    with torchsan.watch(on_finding="collect") as one:
        with torchsan.watch(on_finding="collect", level="thorough") as two:
            threads = [threading.Thread(target=train, args=(Net(), 12)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        train(Net())
    assert not one.off and not two.off
    assert not Brief._standing


@pytest.mark.parametrize("blind", [True, False])
def test_a_step_that_waited_for_its_turn_while_the_watch_ended(blind):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(on_finding="collect", level="thorough") as san:
        handlers = events._heard["optimizer.step"]
        if blind:
            san.go_blind("a test")
    for some in handlers:  # as a thread that looked them up before
        events._tell(some, events.Event("optimizer.step", optimizer, {}))
    assert not san.off and not Brief._standing


def test_a_look_that_fails_is_taken_down(monkeypatch):
    original = torch.relu
    monkeypatch.setattr(SilentUnits, "_take", lambda *args: 1 / 0)
    seen = []
    with torchsan.watch(on_finding="collect") as san:
        train(Net(lambda x: seen.append(torch.relu is original) or x), 1)
        assert seen == [True]
    assert list(san.off) == ["SilentUnits"]


def test_inside_of_transforms():
    def mean(row):
        return torch.relu(row[None].expand(3, 8)).mean(0)

    with torchsan.watch(on_finding="collect") as san:
        train(Net(torch.func.vmap(mean)))
    assert not san.off


def test_no_second_one_and_none_while_compiled_code_lives():
    one, two = Brief(), Brief()
    marked = []
    assert one.begin(lambda patches: patches.method(F, "relu", lambda original: lambda x: marked.append(x)))
    assert one.stands and not two.begin(Patches.undo) and not two.stands
    F.relu(1)
    two.end()
    assert one.stands and marked == [1]
    one.end()
    one.end()
    compiled = torch.compile(gate, backend="eager")
    compiled(torch.ones(2))
    assert not two.begin(Patches.undo)
