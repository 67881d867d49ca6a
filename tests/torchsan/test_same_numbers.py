"""A watch changes no number: every gradient before and every parameter after each optimizer step, all random states,
what a program gives back and what it prints are the same, bit for bit, with and without it."""

from __future__ import annotations

import hashlib
import os
import random
import runpy
import sys
import warnings
from pathlib import Path

import numpy
import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

import torchsan
from tests.torchsan.conftest import FIXTURES, load

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = {
    f"{path.parent.name}-{path.stem}": [path]
    for path in sorted(FIXTURES.glob("*/*.py"))
    # Programs that read memory that nobody wrote are not the same twice, watched or not.
    if path.parent.name != "memory" or path.stem.startswith("sound")
}
PROGRAMS |= {
    "classifier": [EXAMPLES / "classifier.py", "--epochs", "1", "--images", "400"],
    "amp-bfloat16": [EXAMPLES / "amp.py", "--epochs", "1", "--sequences", "128"],
    "amp-float16": [EXAMPLES / "amp.py", "--epochs", "1", "--sequences", "128", "--dtype", "float16"],
    "mistakes": [EXAMPLES / "mistakes.py", "--epochs", "1"],
    "broken_training": [EXAMPLES / "broken_training.py"],
    "broken_training-silent-sensor": [EXAMPLES / "broken_training.py", "--silent-sensor"],
}


def digest(tensors):
    """A hash of the tensors' bits."""
    sum = hashlib.sha256()
    for tensor in tensors:
        if tensor is None:
            sum.update(b"none")
        else:
            plain = tensor.detach().cpu().to_dense().contiguous()
            sum.update(f"{plain.dtype} {tuple(plain.shape)}".encode())
            sum.update(plain.view(-1).view(torch.uint8).numpy().tobytes())
    return sum.hexdigest()[:16]


def states():
    """The random states of Python, NumPy and torch."""
    return repr(random.getstate())[-200:], repr(numpy.random.get_state()[1:]), digest([torch.get_rng_state()])


class Traced:
    """What an optimizer sees at a step: at each of the first ones, then at one in so many."""

    FIRST, EVERY = 8, 16

    def __init__(self):
        self.steps = []
        self.count = 0
        self.looks = True

    def __enter__(self):
        self._hooks = [register_optimizer_step_pre_hook(self._before), register_optimizer_step_post_hook(self._after)]
        return self

    def __exit__(self, *error):
        for hook in self._hooks:
            hook.remove()

    def _before(self, optimizer, args, kwargs):
        self.count += 1
        self.looks = self.count <= self.FIRST or self.count % self.EVERY == 0
        if not self.looks:
            return
        self.steps.append(("gradients", digest(p.grad for group in optimizer.param_groups for p in group["params"])))

    def _after(self, optimizer, args, kwargs):
        if not self.looks:
            return
        values = [value for state in optimizer.state.values() for value in state.values()]
        self.steps.append(("state", digest(value for value in values if isinstance(value, torch.Tensor))))
        self.steps.append(("parameters", digest(p for group in optimizer.param_groups for p in group["params"])))
        self.steps.append(("random", states()))


def outcome(name, folder, capsys, level=None):
    """What a program does at each step, what it gives or raises and prints, and the random states after it."""
    path, *arguments = PROGRAMS[name]
    random.seed(7)
    numpy.random.seed(7)
    torch.manual_seed(7)
    before, argv, threads = os.getcwd(), sys.argv, torch.get_num_threads()
    os.chdir(folder)
    sys.argv = [str(path), *map(str, arguments)]
    result = None
    san = None if level is None else torchsan.watch(on_finding="collect", level=level, select="ALL")
    try:
        with warnings.catch_warnings(), Traced() as traced:
            warnings.simplefilter("ignore")
            try:
                if san is not None:
                    san.start()
                if path.parent == EXAMPLES:
                    runpy.run_path(str(path), run_name="__main__")
                else:
                    result = load(path).main()
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
            finally:
                if san is not None:
                    san.stop()
    finally:
        os.chdir(before)
        sys.argv = argv
        torch.set_num_threads(threads)
    assert san is None or not san.off, san.off
    return {
        "steps": traced.steps, "count": traced.count, "result": repr(result), "printed": capsys.readouterr().out,
        "states": states(),
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_and_without_a_watch(name, tmp_path, capsys):
    bare = outcome(name, tmp_path, capsys)
    for level in ("default", "thorough"):
        watched = outcome(name, tmp_path, capsys, level)
        for at, (one, other) in enumerate(zip(bare["steps"], watched["steps"])):
            assert one == other, f"{level}: {one[0]} differ at look {at // 4}"
        assert watched == bare


def test_the_comparison_sees_a_changed_bit(tmp_path, capsys, monkeypatch):
    """A check that draws a random number, or touches a gradient, is caught."""
    from torchsan.checks.gradients.clip_out_of_order import ClipOutOfOrder

    bare = outcome("sound-classifier", tmp_path, capsys)
    assert len(bare["steps"]) >= 8
    monkeypatch.setattr(ClipOutOfOrder, "before_optimizer_step", lambda self, event: torch.rand(()))
    assert outcome("sound-classifier", tmp_path, capsys, "default")["states"] != bare["states"]

    def touch(self, event):
        gradient = event.subject.param_groups[0]["params"][0].grad
        gradient.view(-1)[0] = torch.nextafter(gradient.view(-1)[0], torch.tensor(torch.inf))

    monkeypatch.setattr(ClipOutOfOrder, "before_optimizer_step", touch)
    assert outcome("sound-classifier", tmp_path, capsys, "default")["steps"] != bare["steps"]
