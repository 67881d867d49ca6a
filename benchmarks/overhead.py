"""What a watch costs: a watched training step against the same step bare.

    python benchmarks/overhead.py                  the whole table, written to benchmarks/OVERHEAD.md (15 minutes)
    python benchmarks/overhead.py mlp --only watch --seconds 20      one figure, printed only
    python benchmarks/overhead.py cnn --only watch --seconds 240 --update     one figure, longer, put into the table
    python benchmarks/overhead.py --growth         how it grows with the number of layers, into benchmarks/RESULTS.md

Paired and alternating in one process: a block of bare steps, a block of watched steps, bare again ...; each watched
block is compared with the mean of the bare blocks before and after it, and the median of these ratios is told, with its
quartiles. Blocks count the CPU time of the process on one thread: other work on the machine disturbs that least.
Every watched block begins with steps that are not counted, so the looks at the first steps of a run are not in the
figures; it counts as many as lie between two looks of a long run's, so one of these is.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import torch

import torchsan

sys.path.insert(0, str(Path(__file__).parent))
from models import make  # noqa: E402
from pairs import LEAST, block, machine, watch  # noqa: E402

MODELS = {  # counted steps of a block, steps before them, what it is, the bar
    "cnn": (8, 9, "ResNet-18-like CNN, 32×3×64×64", 1.03),
    "gpt": (8, 9, "GPT-like, 10 M parameters, 8×128", 1.03),
    "mlp": (500, 100, "tiny MLP", 1.5),
}


@contextmanager
def watch_thorough(model: torch.nn.Module) -> Iterator[None]:
    with torchsan.watch(model, on_finding="collect", level="thorough"):
        yield


@contextmanager
def anomaly(model: torch.nn.Module) -> Iterator[None]:
    torch.autograd.set_detect_anomaly(True)
    try:
        yield
    finally:
        torch.autograd.set_detect_anomaly(False)


@contextmanager
def transformers_debug(model: torch.nn.Module) -> Iterator[None]:
    from transformers.debug_utils import DebugUnderflowOverflow

    DebugUnderflowOverflow(model)
    try:
        yield
    finally:  # it has no way to take itself down
        for module in model.modules():
            module._forward_hooks.clear()


VARIANTS: dict[str, tuple[str, Callable]] = {
    "watch": ("torchsan", watch),
    "thorough": ('torchsan, level="thorough"', watch_thorough),
    "anomaly": ("set_detect_anomaly(True)", anomaly),
    "transformers": ("transformers DebugUnderflowOverflow", transformers_debug),
}


def ratio(name: str, variant: Callable, seconds: float) -> tuple[list[float], float]:
    """The ratios of all pairs, and the median of the bare steps in seconds."""
    count, before, _, _ = MODELS[name]
    model, _, step = make(name)
    block(step, 1, before)
    ratios, bare = [], [block(step, count, 1)]
    started = time.monotonic()
    while len(ratios) < LEAST or time.monotonic() - started < seconds:
        with variant(model):
            other = block(step, count, before)
        gc.collect()  # what the variant left behind is not the bare step's to sweep
        bare.append(block(step, count, 1))
        ratios.append(other / ((bare[-1] + bare[-2]) / 2))
    return ratios, statistics.median(bare)


def version(package: str) -> str | None:
    """The version of a package that can be imported."""
    try:
        return importlib.import_module(package).__version__
    except ImportError:
        return None


def table(rows: dict[str, dict[str, str]], variants: list[str]) -> str:
    """The results as Markdown."""
    head = ["model", "bare", *(VARIANTS[key][0] for key in variants), "bar"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for name, row in rows.items():
        cells = [MODELS[name][2], row["bare"], *(row.get(key, "-") for key in variants), f"≤ {MODELS[name][3]}"]
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def update(text: str, rows: dict[str, dict[str, str]]) -> str:
    """The table of an earlier run with the figures of this one in their places; the time of a bare step stays."""
    lines = text.split("\n")
    head = next(line for line in lines if line.startswith("| model |")).split(" | ")
    for number, line in enumerate(lines):
        for name, row in rows.items():
            if line.startswith(f"| {MODELS[name][2]} |"):
                cells = line.split(" | ")
                for key in row.keys() & VARIANTS.keys():
                    cells[head.index(VARIANTS[key][0])] = row[key]
                lines[number] = " | ".join(cells)
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"which of {', '.join(MODELS)} (all)")
    parser.add_argument("--only", choices=VARIANTS, action="append", help="these columns alone")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each figure")
    parser.add_argument("--update", action="store_true", help="put the figures into OVERHEAD.md, leaving the others")
    parser.add_argument("--growth", action="store_true", help="models of ever more small layers (15 minutes)")
    args = parser.parse_args()
    chosen = args.models or list(MODELS)
    if any(name not in MODELS for name in chosen):
        parser.error(f"models are {', '.join(MODELS)}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if args.growth:
        from growth import measure

        measure(args.seconds)
        return 0
    variants = args.only or list(VARIANTS)
    peer = version("transformers")
    if peer is None:
        variants = [key for key in variants if key != "transformers"]
        print("transformers cannot be imported: its column is left out", file=sys.stderr)
    rows: dict[str, dict[str, str]] = {}
    missed = False
    for name in chosen:
        row = rows[name] = {}
        for key in variants:
            ratios, bare = ratio(name, VARIANTS[key][1], args.seconds)
            low, middle, high = statistics.quantiles(ratios, n=4)
            row.setdefault("bare", f"{bare * 1e3:.3g} ms")
            row[key] = f"{middle:.3f} ({low:.3f}-{high:.3f})"
            print(f"{name:4} {key:13} {row[key]}  {len(ratios)} pairs, bare {bare * 1e3:.3g} ms", flush=True)
            missed |= key == "watch" and middle > MODELS[name][3]
    page = Path(__file__).with_name("OVERHEAD.md")
    if args.update:
        page.write_text(update(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    elif not args.models and not args.only:
        others = f", transformers {peer}" if peer else "; transformers could not be imported, so its column is left out"
        text = (
            "# What a watch costs\n\n"
            "A step under each tool, in bare steps: the median of the pairs (and the quartiles). "
            f"Made by `python benchmarks/overhead.py` on {date.today()}, whose docstring says how.\n\n"
            f"{table(rows, variants)}\n\n{machine()}{others}.\n"
        )
        page.write_text(text, encoding="utf-8")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
