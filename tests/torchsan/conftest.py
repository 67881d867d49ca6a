"""Helpers for the tests of torchsan: run a program under a watch and say what was found where."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import torchsan
from torchsan.checks.gradients import parameters
from torchsan.program.assignments import loaded

torch.set_num_threads(1)  # with tensors as small as these, threads only wait for each other
FIXTURES = Path(__file__).parents[2] / "fixtures" / "torchsan"
TESTS = str(Path(__file__).parents[1]) + os.sep


class Ran:
    """What came of a program under a watch."""

    def __init__(self, san: Any, text: str, value: Any, error: Exception | None):
        self.san = san
        self.error = error
        self.value = value
        self.findings = san.findings
        self.codes = sorted({finding.code for finding in self.findings})
        self.lines = {(f.number, f.location.row) for f in self.findings}
        self.marked = {
            (int(number), row)
            for row, line in enumerate(text.splitlines(), 1)
            if (marks := re.search(r"# <- ([\d, ]+)", line))
            for number in re.findall(r"\d+", marks[1])
        }


def load(path: Path) -> ModuleType:
    """The module in a file, loaded afresh under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"fixture_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    """While what other tests compiled lives, there are looks that a watch does not take."""
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()


@pytest.fixture(autouse=True)
def programs_are_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a loaded file reads counts as a use, wherever it stands: no program may be judged by the tests of others, nor by
    their programs."""
    monkeypatch.setattr(parameters, "loaded", lambda: [file for file in loaded() if not file.startswith(TESTS)])
    yield
    for name in [name for name in sys.modules if name.startswith("fixture_")]:
        del sys.modules[name]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """Runs source text (or a fixture's path) as a script under a watch. A fixture's `main()` is called."""

    def run(program: str | Path, **options: Any) -> Ran:
        if isinstance(program, Path):
            path = program
        else:
            path = tmp_path / f"program_{len(list(tmp_path.iterdir()))}.py"
            path.write_text(program, encoding="utf-8")
        san = torchsan.watch(on_finding="collect", **options)
        value = error = None
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with san:
                    module = load(path)
                    if hasattr(module, "main") and isinstance(program, Path):
                        value = module.main()
            except Exception as raised:  # some programs end in torch's own error
                error = raised
        assert not san.off, san.off
        return Ran(san, path.read_text(encoding="utf-8"), value, error)

    return run
