"""Checks of data that fixtures cannot reach: what is said only where it is asked for, and several processes."""

from __future__ import annotations

import itertools
from collections import UserDict

import pytest
import torch
from torch import nn

import torchsan
from tests.torchsan.conftest import FIXTURES
from torchsan.checks.data import fingerprints, no_pin_memory, waiting_for_loader
from torchsan.checks.distributed import accumulation_sync
from torchsan.checks.tensors import memory_growth
from torchsan.probes import loader
from torchsan.program import referrers

LOOP = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, index):
        return torch.randn(4), index % 2

loader = DataLoader(Rows(), batch_size={size}, shuffle=True, num_workers={workers}{more})
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range({epochs}):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


def test_the_wait_for_each_batch_is_kept(run):
    ran = run(LOOP.format(size=4, workers=0, more="", epochs=1))
    assert not ran.findings
    assert ran.san.series["time/loader"].count == 20
    assert ran.san.series["time/loader"].total > 0


@pytest.mark.parametrize(("share", "found"), [(0.4, {601}), (0.6, set())])
def test_waiting_is_said_where_it_is_asked_for(run, share, found, monkeypatch):
    # A clock that moves on by one whenever somebody looks: once before a batch, once after it.
    monkeypatch.setattr(loader, "perf_counter", itertools.count().__next__)
    monkeypatch.setattr(waiting_for_loader, "_BATCHES", 16)
    monkeypatch.setattr(waiting_for_loader, "_SHARE", share)
    ran = run(LOOP.format(size=4, workers=0, more="", epochs=1), select="TS601")
    assert {finding.number for finding in ran.findings} == found
    assert all("50% of the time of 16 steps" in finding.message for finding in ran.findings)


@pytest.mark.parametrize(("more", "found"), [("", {604}), (", persistent_workers=True", set())])
def test_workers_that_are_started_again(run, more, found):
    ran = run(LOOP.format(size=40, workers=1, more=more, epochs=3), select="TS604")
    assert {finding.number for finding in ran.findings} == found


class Wrapped(nn.parallel.DistributedDataParallel):
    """As the check sees it; no process group stands behind it."""

    def __init__(self, module):
        nn.Module.__init__(self)
        self.module, self.process_group, self.require_backward_grad_sync = module, None, True

    def forward(self, x):
        return self.module(x)


@pytest.mark.parametrize("way", ["each", "no_sync", "two losses", "one process"])
def test_all_reduces_of_micro_batches(monkeypatch, way):
    monkeypatch.setattr(accumulation_sync.distributed, "get_world_size", lambda _: 1 if way == "one process" else 2)
    model = Wrapped(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torchsan.watch(model, optimizer, on_finding="collect", select="TS814") as san:
        for _ in range(4):
            for micro in range(2):
                model.require_backward_grad_sync = way != "no_sync" or micro == 1
                if way == "two losses" and micro:
                    model(torch.randn(2, 4)).square().mean().backward()
                else:
                    model(torch.randn(2, 4)).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert [finding.number for finding in san.findings] == ([814] if way == "each" else [])
    assert not san.off


SIZES = {
    "grows": ([100, 110, 120, 130, 140, 150], [426]),
    "a cache that fills": ([100, 110, 120, 130, 130, 130], []),
    "less each time": ([100, 140, 160, 170, 175, 176], []),
    "hardly": ([10000, 10010, 10020, 10030, 10040, 10050], []),
    "now and then": ([100, 110, 110, 120, 120, 130], []),
}


@pytest.mark.parametrize("way", SIZES)
def test_what_a_device_has_allocated(run, monkeypatch, way):
    """Read once a pass; each size is told twice where the rubbish is swept for a suspicion."""
    sizes, found = SIZES[way]
    passes = []

    def allocated(self):
        passes.append(self.watch.passes.current)
        return sizes[min(step() // 20, len(sizes)) - 1]

    def step():
        return watches[0].ledger.step

    watches = []
    monkeypatch.setattr(memory_growth.MemoryGrowth, "_allocated", allocated)
    monkeypatch.setattr(memory_growth.MemoryGrowth, "start", lambda self: watches.append(self.watch))
    ran = run(LOOP.format(size=4, workers=0, more="", epochs=7), select="TS426")
    assert [finding.number for finding in ran.findings] == found
    assert passes


class Keeps:
    def __init__(self):
        self.log = {"seen": []}


def test_what_keeps_a_thing_is_named():
    holder = Keeps()
    holder.log["seen"].append((torch.ones(2), 1))
    assert referrers.keeper(holder.log["seen"][0][0]) == "holder.log['seen'][...][...]"
    KEPT["last"] = torch.ones(3)
    assert referrers.keeper(KEPT["last"]) == "KEPT['last']"
    remember = closure()
    assert referrers.keeper(remember(torch.ones(4))) == "seen[...] of closure.<locals>.remember"
    KEPT.clear()


KEPT = {}


def closure():
    seen = []

    def remember(value):
        seen.append(value)
        return value

    return remember


@pytest.mark.parametrize("level", ["default", "memory"])
def test_what_keeps_graphs_is_named(run, level):
    ran = run(FIXTURES / "broken" / "losses_kept_in_a_closure.py", level=level)
    [finding] = ran.findings
    assert "seen[...] of recorder.<locals>.record" in finding.message
    ran = run(FIXTURES / "broken" / "kept_losses.py", level=level)
    [finding] = ran.findings
    assert "`history" in finding.message
    assert finding.details.get("kept by") == (None if level == "default" else "history[...]")


EMPTIES = """
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    optimizer.zero_grad()
    model(torch.randn(3, 4)).sum().backward()
    optimizer.step()
    if step % {every} == 0:
        torch.cuda.empty_cache()  # LINE
torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(("every", "cuda", "found"), [(1, True, [424]), (3, True, []), (1, False, [])])
def test_the_cache_is_emptied_in_every_step(run, monkeypatch, every, cuda, found):
    monkeypatch.setattr("torchsan.own.torch.cuda.is_initialized", lambda: cuda)
    emptied = []
    monkeypatch.setattr(torch.cuda.memory, "empty_cache", empty := (lambda: emptied.append(1)))
    monkeypatch.setattr(torch.cuda, "empty_cache", empty)
    ran = run(EMPTIES.format(every=every), select="TS424")
    assert [finding.number for finding in ran.findings] == found
    assert all("# LINE" in EMPTIES.splitlines()[finding.location.row - 1] for finding in ran.findings)
    assert len(emptied) == 12 // every + 1
    assert torch.cuda.empty_cache is empty, "taken down again"


@pytest.mark.parametrize(
    ("more", "gpu", "found"), [("", True, {602}), ("", False, set()), (", pin_memory=True", True, set())]
)
def test_pageable_batches_for_a_gpu(run, monkeypatch, more, gpu, found):
    monkeypatch.setattr(no_pin_memory, "_on_gpu", lambda model: gpu)
    ran = run(LOOP.format(size=4, workers=0, more=more, epochs=1), select="TS602")
    assert {finding.number for finding in ran.findings} == found
    assert not run(LOOP.format(size=4, workers=0, more=more, epochs=1)).findings, "opt-in"


ODD = {
    "scalar": lambda: torch.tensor(3.0),
    "empty": lambda: torch.empty(0, 4),
    "bool": lambda: torch.rand(4, 5) > 0.5,
    "complex": lambda: torch.randn(4, 5, dtype=torch.complex64).conj(),
    "imaginary": lambda: torch.randn(4, 5, dtype=torch.complex64).conj().imag,
    "half": lambda: torch.randn(4, 8).bfloat16(),
    "eight bits": lambda: torch.randn(4, 8).to(torch.float8_e4m3fn),
    "unsigned": lambda: torch.arange(32).reshape(4, 8).to(torch.uint16),
    "sparse": lambda: torch.eye(4).to_sparse(),
    "nested": lambda: torch.nested.nested_tensor([torch.randn(2), torch.randn(3)]),
    "quantized": lambda: torch.quantize_per_tensor(torch.randn(4, 8), 0.1, 0, torch.quint8),
    "expanded": lambda: torch.randn(1, 8).expand(4, 8),
    "transposed": lambda: torch.randn(8, 4).t(),
    "meta": lambda: torch.empty(4, 8, device="meta"),
    "with a gradient": lambda: torch.randn(4, 8, requires_grad=True),
    "inference": lambda: torch.inference_mode()(torch.randn)(4, 8),
    "words": lambda: ["a", "b"],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ODD)
def test_any_batch_can_be_looked_at(kind):
    made = ODD[kind]()
    batch = UserDict(x=[made], y={"z": (made, None, 3)})
    prints = fingerprints.of_batch(batch)
    assert prints == () if kind == "words" else len(prints) == 2
    fingerprints.rows_of(batch)
    if all(prints) and prints:
        assert [one.key for one in prints] == [prints[0].key] * 2


def test_prints_tell_batches_apart():
    one, other = torch.randn(8, 3, 32, 32), torch.randn(8, 3, 32, 32)
    [first], [same], [second] = map(fingerprints.of_batch, (one, one.clone(), other))
    assert first.key == same.key != second.key and first.varied
    assert not fingerprints.of_batch(torch.ones(8, 4))[0].varied
    assert fingerprints.rows_of((torch.arange(8), one)) == fingerprints.rows_of(one)
    assert len(set(fingerprints.rows_of(one))) == 8
    assert fingerprints.rows_of(torch.eye(8)) == [], "rows of one-hot codes are like many others"
