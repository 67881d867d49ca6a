"""How the cost of a watch grows with the number of parameters and modules: `python benchmarks/overhead.py --growth`.

Models of 100, 1,000 and 10,000 small layers, each a ReLU, a Linear and a LayerNorm. Two costs of each, per layer: a
step of a young loop, when looks are still frequent, in pairs as in overhead.py; and, once, all that comes at the
beginning and at the end: starting the watch, the looks at the first steps, stopping. Where a cost grew faster than the
model, its figure per layer would grow from row to row.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from datetime import date

import torch
import torch.nn.functional as F
from pairs import LEAST, block, machine, watch
from results import put
from torch import nn

LAYERS = (100, 1_000, 10_000)
COUNT, BEFORE = 16, 16  # steps of a block, and those before it: one in 16 is looked at more closely
FIRST = 10  # steps that belong to the beginning
ROUNDS = 7  # of the beginning
WIDTH = 8


def make(layers: int) -> tuple[nn.Module, Callable[[], None]]:
    """A model of so many small layers, and one step of its training."""
    torch.manual_seed(0)
    parts = [part for _ in range(layers) for part in (nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH))]
    model = nn.Sequential(*parts)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, targets = torch.randn(16, WIDTH), torch.randint(0, WIDTH, (16,))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()

    return model, step


def of_steps(model: nn.Module, step: Callable[[], None], seconds: float) -> tuple[list[float], float]:
    """The ratios of all pairs, and the median of the bare steps in seconds."""
    block(step, 2, 2)
    bare, ratios, started = [block(step, COUNT, 1)], [], time.monotonic()
    while len(ratios) < LEAST or time.monotonic() - started < seconds:
        with watch(model):
            watched = block(step, COUNT, BEFORE)
        gc.collect()
        bare.append(block(step, COUNT, 1))
        ratios.append(2 * watched / (bare[-1] + bare[-2]))
    return ratios, statistics.median(bare)


def of_the_beginning(model: nn.Module, step: Callable[[], None]) -> float:
    """CPU seconds that a watch over the first steps takes more than these steps: starting it, each of the steps, stopping it.

    Each is the median of some rounds, as is the bare step that is taken off each step: of a large model one step takes
    half as long again as another, and of ten in a row that would be more than what is measured.
    """
    clock, rounds = time.process_time, []
    bare: list[float] = []
    for _ in range(ROUNDS):
        gc.collect()
        bare += [_taken(clock, step) for _ in range(FIRST // 2)]
        began = clock()
        watched = watch(model)
        watched.__enter__()
        parts = [clock() - began, *(_taken(clock, step) for _ in range(FIRST))]
        parts.append(_taken(clock, lambda watched=watched: watched.__exit__(None, None, None)))
        rounds.append(parts)
        bare += [_taken(clock, step) for _ in range(FIRST // 2)]
    return sum(map(statistics.median, zip(*rounds))) - FIRST * statistics.median(bare)


def _taken(clock: Callable[[], float], call: Callable[[], object]) -> float:
    began = clock()
    call()
    return clock() - began


def measure(seconds: float) -> None:
    """Make the table and put it into RESULTS.md."""
    rows = []
    for layers in LAYERS:
        model, step = make(layers)
        ratios, bare = of_steps(model, step, seconds)
        once = of_the_beginning(model, step)
        low, middle, high = statistics.quantiles(ratios, n=4)
        added = (middle - 1) * bare / layers
        cells = [
            f"{layers:,}", f"{sum(1 for _ in model.modules()):,}", f"{sum(1 for _ in model.parameters()):,}",
            f"{bare * 1e3:.3g} ms", f"{middle:.3f} ({low:.3f}-{high:.3f})", f"{added * 1e6:.2f} µs",
            f"{once:.2f} s", f"{once / layers * 1e6:.0f} µs",
        ]
        rows.append(f"| {' | '.join(cells)} |")
        print(rows[-1], f"{len(ratios)} pairs", flush=True)
    put("overhead_growth", f"""## How the cost of a watch grows with the model

`python benchmarks/overhead.py --growth`, {date.today()}: models of small layers (ReLU, Linear, LayerNorm of width
{WIDTH}). Steps {BEFORE + 1} to {BEFORE + COUNT} of a watch, when looks are still frequent (later they become rare); and
what comes once: start, the looks at the first {FIRST} steps, stop; each the median of {ROUNDS} rounds, against the median bare step.

| layers | modules | parameter tensors | bare step | watched step | added, per layer | once | once, per layer |
| --- | --- | --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}

{machine()}.
""")
