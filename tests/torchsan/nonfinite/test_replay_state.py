"""A replay leaves no trace: the run goes on as if there had been none, bit for bit."""

from __future__ import annotations

import random
import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import torchsan
from torchsan.nonfinite import replay

STEPS, BAD = 6, 3


class Everything(nn.Module):
    """Whatever a forward can change: running statistics, a power iteration, counters, lists, a cache."""

    def __init__(self):
        super().__init__()
        self.inner = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 8))
        self.old = nn.utils.spectral_norm(nn.Linear(8, 8))
        self.weighed = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
        self.norm = nn.BatchNorm1d(8, momentum=None)
        self.lstm = nn.LSTM(8, 4, num_layers=2, dropout=0.4, batch_first=True)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(4, 1)
        self.tied = nn.Linear(4, 1)
        self.tied.weight = self.out.weight
        self.register_buffer("mean", torch.zeros(8))
        self.calls = 0
        self.seen: list[int] = []
        self.cache: dict[str, float] = {}
        self.last = None

    def forward(self, x):
        self.calls += 1
        self.seen.append(len(x))
        h = self.drop(self.norm(self.weighed(self.old(F.relu(self.inner(x))))))
        self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
        self.cache["mean"] = float(self.mean.mean())
        self.last = h
        h, _ = self.lstm(h.unsqueeze(1))
        h = checkpoint(self.last_layers, h.squeeze(1), use_reentrant=False)
        noise = torch.rand_like(h) + random.random() + float(numpy.random.rand())
        return h * noise

    def last_layers(self, h):
        return F.dropout(self.out(h) + self.tied(h), 0.2)


def skips(model, loss, optimizer, scaler):
    """Steps unless a gradient is not finite."""
    loss.backward()
    if all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None):
        optimizer.step()


def steps(model, loss, optimizer, scaler):
    """Steps on what there is; NaN is cleared out of the gradients."""
    loss.backward()
    for p in model.parameters():
        p.grad.nan_to_num_(0.0, 0.0, 0.0)
    optimizer.step()


def steps_on_nan(model, loss, optimizer, scaler):
    loss.backward()
    optimizer.step()


def scaled(model, loss, optimizer, scaler):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


def bad_loss(y, x):
    return torch.log(y - y).mean()


def bad_gradient(y, x):
    return torch.sqrt((y - y.detach()) ** 2).mean() + y.square().mean()


def bad_input(y, x):
    return (y * x[:, :1]).mean() / x.abs().sum()


def train(goes_wrong, step_of, bad_steps=(BAD,)):
    """Everything that could differ afterwards."""
    for seed in (torch.manual_seed, random.seed, numpy.random.seed):
        seed(7)
    model = Everything()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    calls = {"forward": 0, "parameter": [], "activation": 0}
    kept = {}

    def hook(module, args, output):
        calls["forward"] += 1
        kept["norm"] = output

    def of_parameter(grad):
        calls["parameter"].append(grad.shape)

    model.norm.register_forward_hook(hook)
    model.out.bias.register_hook(of_parameter)
    losses, gradients, identities = [], [], []
    for step in range(STEPS):
        x = torch.randn(5, 4)
        if goes_wrong is bad_input and step in bad_steps:
            x.zero_()
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=step % 2 == 1):
            y = model(x).float()
        torch.rand(3)
        activation = kept["norm"]
        loss = goes_wrong(y, x) if step in bad_steps else y.square().mean()
        before = [id(p) for p in model.parameters()]
        step_of(model, loss, optimizer, scaler)
        assert kept["norm"] is activation
        identities.append(before == [id(p) for p in model.parameters()])
        losses.append(loss.detach().clone())
        gradients += [p.grad.clone() for p in model.parameters() if p.grad is not None]
        gradients.append(activation.grad_fn is not None)
    return {
        "losses": losses,
        "gradients": gradients,
        "parameters": [p.detach().clone() for p in model.parameters()],
        "buffers": dict(model.named_buffers()),
        "state": [value for state in optimizer.state.values() for value in state.values()],
        "scale": scaler.get_scale(),
        "random": (torch.get_rng_state(), random.random(), float(numpy.random.rand())),
        "attributes": (model.calls, model.seen, model.cache, sorted(model.__dict__), model.training),
        "calls": calls,
        "model": model,
        "identities": identities,
        "settings": (torch.is_grad_enabled(), torch.is_anomaly_enabled(), torch.is_autocast_enabled("cpu")),
        "kinds": [type(p) for p in model.parameters()] + [p.is_leaf for p in model.parameters()],
    }


def hooks(model):
    return [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()]


def flat(value):
    if isinstance(value, dict):
        value = [item for pair in value.items() for item in pair]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for item in value:
            yield from flat(item)
    elif isinstance(value, torch.Tensor):
        yield value.shape, value.dtype, value.detach().reshape(-1).contiguous().view(torch.uint8).tolist()
    else:
        yield str(value)  # NaN equals NaN


@pytest.fixture
def replays(monkeypatch):
    seen = []
    original = replay.run

    def run(*args, **kwargs):
        seen.append(original(*args, **kwargs))
        return seen[-1]

    monkeypatch.setattr(replay, "run", run)
    return seen


CASES = [
    (bad_loss, steps, (BAD,)),
    (bad_loss, skips, (BAD,)),
    (bad_gradient, steps, (BAD,)),
    (bad_gradient, skips, (2, 3, 5)),
    (bad_gradient, steps_on_nan, (4,)),
    (bad_gradient, scaled, (1, 2, 3, 4)),
    (bad_input, skips, (BAD,)),
]


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize(("goes_wrong", "step_of", "bad_steps"), CASES, ids=lambda v: getattr(v, "__name__", None))
def test_the_run_goes_on_as_if_nothing_was(goes_wrong, step_of, bad_steps, level, replays):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bare = train(goes_wrong, step_of, bad_steps)
        with torchsan.watch(on_finding="collect", level=level) as san:
            watched = train(goes_wrong, step_of, bad_steps)
    assert not san.off, san.off
    assert any(outcome.origin is not None for outcome in replays), [outcome.why for outcome in replays]
    assert hooks(bare.pop("model")) == hooks(watched.pop("model"))
    for key, value in bare.items():
        assert list(flat(watched[key])) == list(flat(value)), key
