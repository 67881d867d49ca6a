"""Nothing grows over starts and stops, nor over steps; of models and optimizers that are ever new ones nothing is held.

The long form is `python -m tests.torchsan.test_growth`: 1,000 starts and stops, and 5,000 steps of ever new models.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

import torchsan
from torchsan.probes import modules
from torchsan.stream import events, training_thread
from torchsan.stream.forward_start import _tables


def objects():
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects())


def names():
    """Everything that a watch may replace, and what stands there."""
    homes = [torch, torch.nn.functional, torch.autograd, torch.Tensor, nn.Module, torch.optim.Optimizer, torch.utils.data.DataLoader]
    return {(id(home), key): id(value) for home in homes for key, value in vars(home).items()}


def grown(before, after, least):
    return {name: count - before[name] for name, count in after.items() if count - before[name] >= least}


def steps(model, count):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(count):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(4, 4)), torch.randint(0, 2, (4,))).backward()
        optimizer.step()


def test_starts_and_stops_leave_nothing():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    for _ in range(2):
        with torchsan.watch(model, on_finding="collect"):
            steps(model, 2)
    before, placed, places = objects(), names(), len(sys.modules)
    for _ in range(4):
        with torchsan.watch(model, on_finding="collect"):
            steps(model, 2)
    assert grown(before, objects(), 4) == {}
    assert names() == placed and len(sys.modules) == places
    assert not events.listening() and not modules.count()
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_models_that_are_ever_new_leave_nothing():
    def build(count):
        for at in range(count):
            steps(nn.Sequential(nn.Linear(4, 4 + at % 3), nn.BatchNorm1d(4 + at % 3), nn.Linear(4 + at % 3, 2)), 2)

    with torchsan.watch(on_finding="collect") as san:
        build(25)
        before, kept = objects(), (modules.count(), len(training_thread._users), len(_tables))
        build(25)
        after = objects()
        assert (modules.count(), len(training_thread._users), len(_tables)) <= tuple(one + 2 for one in kept)
        assert len(san.ledger.accounts) <= 3
    theirs = {"Tensor", "Parameter", "Sequential", "Linear", "BatchNorm1d", "SGD", "Remembered", "frame", "RemovableHandle"}
    assert {name: count for name, count in grown(before, after, 5).items() if name in theirs} == {}
    # Of each optimizer that was, the report keeps two series of numbers, of 2,048 names in all.
    assert after.total() - before.total() < 25 * 20, grown(before, after, 20)


def test_what_dies_is_taken_out_before_another_has_its_id():
    with torchsan.watch(on_finding="collect") as san:
        table, marks = san.ledger.while_alive({}), san.ledger.while_alive(set())
        for _ in range(3):
            model = nn.Linear(4, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            model(torch.randn(2, 4))
            account = san.ledger.account(optimizer)
            assert not {id(model), id(optimizer), id(account)} & (table.keys() | marks)
            table[id(model)] = table[id(optimizer)] = 1
            marks.add(id(account))
            assert len(table) == 2 and len(marks) == 1
            del model, optimizer, account


def test_steps_leave_nothing():
    model = nn.Sequential(nn.Linear(4, 300), nn.ReLU(), nn.Linear(300, 300), nn.Linear(300, 2))
    with torchsan.watch(model, on_finding="collect"):
        steps(model, 80)
        before = objects()
        steps(model, 240)
        after = objects()
    # One for each other step would be a leak; what a resting model is compared with, some 60 tuples in all, may begin at any step.
    assert grown(before, after, 120) == {}


OUTLIVES = """
import gc, os
import torch, torchsan
from torch import nn
from torchsan.probes import modules
from torchsan.program import layers
from torchsan.stream import forward_start, training_thread

model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
san = torchsan.watch(model, on_finding="collect", level="thorough")
with san:
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(4, 4)).sum().backward()
        optimizer.step()
        layers.mode_layers(model)
assert training_thread._users and forward_start._tables and layers._modes
# What the end of an interpreter does to a module's names before the last objects die; others may still hold what they named.
held = forward_start._tables, layers._modes, training_thread._users, modules._hooked, modules._waiting
forward_start._tables = layers._modes = training_thread._users = modules._hooked = modules._waiting = None
del model, optimizer
gc.collect()
os._exit(0)
"""


def test_what_outlives_the_names_of_a_module_dies_in_silence():
    ran = subprocess.run([sys.executable, "-c", OUTLIVES], capture_output=True, text=True, timeout=100)
    assert (ran.returncode, ran.stderr) == (0, "")


def main():
    import resource

    def say(what):
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{what}: {objects().total():,} objects, at most {memory:.0f} MB so far", flush=True)

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    for at in range(1001):
        if at % 250 == 0 or at == 10:
            say(f"{at} starts and stops")
        with torchsan.watch(model, on_finding="collect"):
            steps(model, 2)
    with torchsan.watch(on_finding="collect") as san:
        for at in range(2501):
            if at % 500 == 0:
                say(f"{2 * at} steps, each two of a new model")
            steps(nn.Sequential(nn.Linear(4, 4 + at % 3), nn.BatchNorm1d(4 + at % 3), nn.Linear(4 + at % 3, 2)), 2)
        print(san.off, [finding.code for finding in san.findings])


if __name__ == "__main__":
    main()
