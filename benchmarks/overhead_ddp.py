"""What a watch costs under DistributedDataParallel: a watched training step against the same step bare, on gloo ranks.

    python benchmarks/overhead_ddp.py --ranks 2 --seconds 60

Paired and alternating, like `overhead.py`: a block of bare steps, a block of watched steps, bare again; each watched
block is compared with the mean of the bare ones around it. All ranks go through the same blocks together. Told are the
median of the ratios and their quartiles, of the CPU time of the first rank and of the time on the clock: other work on
the machine disturbs the first far less, the second has in it what a rank waits for the others.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import torchsan

sys.path.insert(0, str(Path(__file__).parent))
from models import make  # noqa: E402

MODELS = {  # counted steps of a block, steps before them (the looks at the first 8 of a run among them), the bar
    "cnn": (6, 9, 1.05),
    "mlp": (200, 100, 1.5),
}
BEST = 3  # pairs at the least


def stepper(name: str):
    """The model of a benchmark under DistributedDataParallel, and one training step of it."""
    inner, _, _ = make(name)
    model = DistributedDataParallel(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(8, 3, 64, 64) if name == "cnn" else torch.randn(64, next(inner.parameters()).shape[1])

    def step() -> None:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()

    return model, step


def block(step, count: int, before: int) -> tuple[float, float]:
    """Seconds of CPU and on the clock of a step, after `before` steps that are not counted."""
    for _ in range(before):
        step()
    dist.barrier()
    cpu, clock = time.process_time(), time.perf_counter()
    for _ in range(count):
        step()
    return (time.process_time() - cpu) / count, (time.perf_counter() - clock) / count


def work(rank: int, args: argparse.Namespace, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=args.ranks)
    torch.manual_seed(rank)
    for name in args.models:
        count, before, _ = MODELS[name]
        model, step = stepper(name)
        bare, watched = [block(step, count, before)], []
        started = time.monotonic()
        going = torch.ones(1)
        while going.item():
            with torchsan.watch(model, on_finding="collect") as san:
                watched.append(block(step, count, before))
            gc.collect()
            if san.off or san.findings:
                raise SystemExit(f"the watch is not silent: {san.report()}")
            bare.append(block(step, count, before))
            going.fill_(len(watched) < BEST or time.monotonic() - started < args.seconds)
            dist.broadcast(going, 0)  # the first rank's clock decides
        if rank == 0:
            tell(name, bare, watched)
    dist.barrier()
    dist.destroy_process_group()


def tell(name: str, bare: list[tuple[float, float]], watched: list[tuple[float, float]]) -> None:
    """One line for each way of counting."""
    for at, what in enumerate(("CPU", "clock")):
        ratios = [w[at] / ((a[at] + b[at]) / 2) for w, a, b in zip(watched, bare, bare[1:])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        seconds = statistics.median(b[at] for b in bare)
        print(
            f"{name}, {what}: {middle:.3f} ({low:.3f}-{high:.3f}) of {1000 * seconds:.2f} ms, {len(ratios)} pairs, "
            f"bar {MODELS[name][2]}", flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"which of {', '.join(MODELS)} (all)")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each model")
    args = parser.parse_args()
    args.models = args.models or list(MODELS)
    if any(name not in MODELS for name in args.models):
        parser.error(f"models are {', '.join(MODELS)}")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(work, (args, folder), nprocs=args.ranks, start_method="fork")
    return 0


if __name__ == "__main__":
    sys.exit(main())
