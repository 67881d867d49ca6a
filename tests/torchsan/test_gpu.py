"""What only a CUDA device shows: its random states, float16, copies between host and device, graphs, costs."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

import torchsan
from benchmarks.models import ResNet18
from tests.torchsan.test_same_numbers import digest
from torchsan.nonfinite.sentinel import finite
from torchsan.stream.late_values import Late

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def codes(san):
    return sorted(finding.code for finding in san.findings)


class Net(nn.Module):
    """A small network with dropout; `roots` takes the square root of what may be negative."""

    def __init__(self, roots=False):
        super().__init__()
        self.first, self.dropout, self.second = nn.Linear(16, 64), nn.Dropout(0.3), nn.Linear(64, 4)
        self.roots = roots

    def forward(self, x):
        x = self.dropout(F.relu(self.first(x)))
        if self.roots:
            x = (x - 100.0).sqrt()  # HERE
        return self.second(x)


def train(model, optimizer, steps, dtype=None, scaler=None, batches=None):
    """Trains; hashes of everything that came of it, CUDA's random state included."""
    seen = []
    for step in range(steps):
        x = torch.randn(32, 16, device="cuda") if batches is None else batches[step]
        y = torch.randint(0, 4, (32,), device="cuda")
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype or torch.float16, enabled=dtype is not None):
            loss = F.cross_entropy(model(x), y)
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        gradients = [p.grad for p in model.parameters()]
        seen.append(digest([loss, *gradients, *model.parameters(), torch.cuda.get_rng_state(), torch.get_rng_state()]))
    return seen


def with_and_without(program, **options):
    """The same program bare and watched: both results, and the watch."""
    results = []
    for watched in (False, True):
        torch.manual_seed(0)
        san = torchsan.watch(on_finding="collect", **options)
        if watched:
            san.start()
        try:
            results.append(program())
        finally:
            san.stop()
    assert not san.off, san.off
    return *results, san


@pytest.mark.parametrize("level", ["default", "thorough"])
@pytest.mark.parametrize("kind", ["plain", "fused", "bfloat16", "float16"])
def test_numbers_and_random_states_stay_the_same(kind, level):
    def program():
        model = Net().cuda()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=kind == "fused")
        dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(kind)
        scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10) if kind == "float16" else None
        return train(model, optimizer, 12, dtype, scaler)

    bare, watched, san = with_and_without(program, level=level, select="ALL")
    assert bare == watched
    assert not san.findings, san.report()


def test_a_replay_uses_the_devices_random_state():
    """The origin is named, although dropout on the device decides about it, and the run goes on as if not replayed."""

    def program():
        model = Net(roots=True).cuda()
        return train(model, torch.optim.SGD(model.parameters(), lr=1e-3), 3)

    bare, watched, san = with_and_without(program)
    assert bare == watched
    [finding] = [f for f in san.findings if f.number == 422]
    line = Path(__file__).read_text(encoding="utf-8").splitlines()[finding.location.row - 1]
    assert finding.location.filename == __file__ and "# HERE" in line, san.report()
    assert finding.details["operation"] == "sqrt"


@pytest.mark.parametrize("fused", [False, True])
def test_a_scaler_that_skips_is_no_finding(fused):
    """float16 gradients overflow while the scale is too large: the scaler's own business."""

    def program():
        model = Net().cuda()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
        scaler = torch.amp.GradScaler("cuda", init_scale=2.0**24, backoff_factor=2.0**-8)
        seen = train(model, optimizer, 8, torch.float16, scaler)
        assert scaler.get_scale() < 2.0**24, "nothing overflowed: the test is no test"
        return seen

    bare, watched, san = with_and_without(program)
    assert bare == watched
    assert not san.findings, san.report()


def test_overflow_in_a_forward_is_found():
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    batches = [torch.randn(32, 16, device="cuda") for _ in range(6)]
    batches[4] = batches[4] * 1e30  # finite, and far beyond what float16 holds
    with torchsan.watch(model, on_finding="collect", ignore="TS423") as san:
        train(model, optimizer, 6, torch.float16, None, batches)
    assert {"TS121", "TS422"} & set(codes(san)), san.report()


def test_device_mismatch_is_explained():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(16, 4)
            self.shift = torch.zeros(4)  # no buffer: .cuda() leaves it behind

        def forward(self, x):
            return self.layer(x) + self.shift

    model = Shifted().cuda()
    with pytest.raises(RuntimeError, match="same device") as caught:
        with torchsan.watch(model, on_finding="collect") as san:
            model(torch.randn(2, 16, device="cuda"))
    assert {"TS401", "TS501"} & set(codes(san)), san.report()
    note = caught.value.__notes__[0]
    assert "TS401 device-mismatch" in note and "self.shift" in note and "cpu" in note


def test_a_layer_left_behind_is_named_and_not_its_input():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(16, 16)
            self.others = [nn.Linear(16, 4)]  # no ModuleList: .cuda() leaves it behind

        def forward(self, x):
            return self.others[0](self.first(x))

    model = Net().cuda()
    with pytest.raises(RuntimeError, match="same device") as caught:
        with torchsan.watch(on_finding="collect", select="TS401") as san:
            model(torch.randn(2, 16, device="cuda"))
    [finding] = san.findings
    assert "`self.others[0]` is on another one" in finding.message
    said = "the parameters of `self.others[0]` are on cpu, all others of `Net` on cuda:0"
    assert said in finding.message and said in caught.value.__notes__[0]


class TestCopies:
    def kinds(self, pin):
        """The kinds of copies to the device that a pass over a loader makes, by the profiler's names."""
        loader = DataLoader(TensorDataset(torch.randn(64, 256)), batch_size=16, pin_memory=pin)
        torch.zeros(1, device="cuda")
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            for (rows,) in loader:
                rows.to("cuda", non_blocking=True)
            torch.cuda.synchronize()
        return {event.key for event in seen.key_averages() if event.key.startswith("Memcpy HtoD")}

    def test_pageable_and_pinned(self):
        assert any("Pageable" in kind for kind in self.kinds(pin=False))
        assert not any("Pageable" in kind for kind in self.kinds(pin=True))

    def test_a_watch_copies_nothing_to_the_device_from_pageable_memory(self):
        """Beyond constants of its own, a few bytes each, made once."""
        model = Net().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        with torchsan.watch(model, on_finding="collect"):
            train(model, optimizer, 4)
            x, y = torch.randn(32, 16, device="cuda"), torch.randint(0, 4, (32,), device="cuda")
            with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
                for _ in range(4):
                    optimizer.zero_grad()
                    F.cross_entropy(model(x), y).backward()
                    optimizer.step()
                torch.cuda.synchronize()
        copies = [e for e in seen.key_averages() if e.key.startswith("Memcpy HtoD (Pageable")]
        assert sum(event.count for event in copies) == 0, [(e.key, e.count) for e in copies]

    def test_values_are_read_late_and_in_order(self):
        answers = []
        late = Late()
        for value in range(100):
            late.ask(None, torch.tensor([float(value)], device="cuda"), answers.append)
        late.finish()
        assert answers == [float(value) for value in range(100)]


def test_recording_a_graph():
    """A whole step in a CUDA graph: the watch steps aside, and the graph is what it would be."""

    def program():
        model = Net().cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        x, y = torch.randn(32, 16, device="cuda"), torch.randint(0, 4, (32,), device="cuda")

        def step():
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded):
            step()
        for _ in range(5):
            recorded.replay()
        torch.cuda.synchronize()
        return digest(model.parameters())

    bare, watched, san = with_and_without(program, level="thorough")
    assert bare == watched
    assert not san.findings, san.report()


def test_what_the_sentinel_costs(capsys):
    """Figures, no judgement: pytest -m gpu -s tests/torchsan/test_gpu.py -k costs"""
    model = ResNet18().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x, y = torch.randn(32, 3, 64, 64, device="cuda"), torch.randint(0, 100, (32,), device="cuda")

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    def timed(work, times=20):
        for _ in range(3):
            work()
        taken = []
        for _ in range(times):
            torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            taken.append(time.perf_counter() - start)
        return statistics.median(taken) * 1e3

    bare = timed(step)
    gradients = [p.grad for p in model.parameters()]
    assert finite(gradients)
    look = timed(lambda: finite(gradients))
    with torchsan.watch(model, on_finding="collect") as san:
        watched = timed(step)
    assert not san.off
    gradients[3].view(-1)[7] = torch.inf
    assert not finite(gradients)
    with capsys.disabled():
        print(f"\nResNet-18, 32x3x64x64: step {bare:.2f} ms, sentinel {look:.3f} ms, watched step {watched:.2f} ms")
