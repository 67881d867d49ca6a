"""Runs one program for fix_execute.py: seeded, with stand-ins for what is not at hand, and with its losses noted.

    python fix_runner.py PROGRAM FILE STEPS [OPTION...]

The losses are what `backward` is called of; they are written to FILE as JSON. After STEPS of them the program ends (0: never).
"""

from __future__ import annotations

import json
import os
import random
import runpy
import sys
import types


def stand_in_for_network() -> None:
    """`requests.get` gives the citations that fix_data.py has put into CITATIONS, whatever is asked for."""
    import contextlib

    @contextlib.contextmanager
    def get(url: str, **_: object):
        with open(os.environ["CITATIONS"], "rb") as file:
            yield types.SimpleNamespace(raw=file)

    sys.modules["requests"] = types.ModuleType("requests")
    sys.modules["requests"].get = get


def stand_in_for_operators() -> None:
    """torchvision asks for operators that its wheels for CUDA bring, and the CPU's torch cannot load: these are never called."""
    import torch

    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    stand_in_for_operators.kept = library


def main() -> None:
    program, told, steps, *options = sys.argv[1:]
    sys.argv = [program, *options]
    sys.path[0] = os.path.dirname(program)
    import torch

    random.seed(0)
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        import numpy
        numpy.random.seed(0)
    except ImportError:
        pass
    if "CITATIONS" in os.environ:
        stand_in_for_network()
    if os.environ.get("TORCHVISION_OPERATORS") == "stand-in":
        stand_in_for_operators()
    losses: list[float] = []
    backward = torch.Tensor.backward

    def noted(self, *args, **kwargs):
        losses.append(float(self.detach().double().sum()))
        done = backward(self, *args, **kwargs)
        if len(losses) == int(steps):
            raise SystemExit(0)
        return done

    torch.Tensor.backward = noted
    try:
        runpy.run_path(program, run_name="__main__")
    finally:
        with open(told, "w") as file:
            json.dump(losses, file)


if __name__ == "__main__":
    main()
