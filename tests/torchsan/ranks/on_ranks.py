"""Runs programs on several ranks, one after the other, each bare and under a watch; sound ones at each level.

    python -m tests.torchsan.ranks.on_ranks WORLD OUT PROGRAM...

OUT gets, for each program, what was found at each level (number, row, ranks, step) and what was not the same as bare.
"""

from __future__ import annotations

import gc
import hashlib
import json
import random
import sys
import tempfile
import traceback
import warnings
from datetime import timedelta
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
from torch import nn

import torchsan
from tests.torchsan.conftest import load

LEVELS = {"broken": ("default",), "nonfinite": ("default",), "sound": ("default", "thorough")}  # by the folder of a program


def digest(value):
    """A digest of the tensors, modules and other things that a program gives back, and of the random states."""
    parts = [str(random.getstate()), repr(numpy.random.get_state()), torch.get_rng_state().tolist()]
    for one in value:
        if isinstance(one, nn.Module):
            parts += [p.detach().tolist() for p in (*one.parameters(), *one.buffers())]
        else:
            parts.append(one.tolist() if isinstance(one, torch.Tensor) else repr(one))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def once(path, rank, level):
    """Run one program; its digest, and the watch."""
    random.seed(rank)
    numpy.random.seed(rank)
    torch.manual_seed(rank)
    if level is None:
        return digest(load(path).main(rank)), None
    with torchsan.watch(on_finding="collect", level=level) as san:
        made = digest(load(path).main(rank))
    return made, san


def work(rank, world, folder, out, paths):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world, timeout=timedelta(seconds=30),
    )
    told = {}
    for path in map(Path, paths):
        bare, _ = once(path, rank, None)
        for level in LEVELS[path.parent.name]:
            made, san = once(path, rank, level)
            gc.collect()
            agreed = [None] * world
            dist.all_gather_object(agreed, (made == bare, dict(san.off)))
            found = [(f.number, f.location.row, list(f.ranks), f.step, f.message) for f in san.findings]
            told[f"{path.stem}-{level}"] = {"found": found, "same": [same for same, _ in agreed],
                                            "off": [off for _, off in agreed if off]}
    if rank == 0:
        Path(out).write_text(json.dumps(told), encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def guarded(rank, *args):
    try:
        work(rank, *args)
    except BaseException:
        traceback.print_exc()
        raise


if __name__ == "__main__":
    world, out, *paths = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.start_processes(
            guarded, (int(world), folder, out, paths), nprocs=int(world), start_method="fork",
        )
