"""level="memory": reads of memory that nobody wrote."""

from __future__ import annotations

import warnings

import pytest
import torch

import torchsan
from tests.torchsan.conftest import FIXTURES

PROGRAMS = sorted((FIXTURES / "memory").glob("*.py"))
SOUND = sorted((FIXTURES / "sound").glob("*.py"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_programs(run, path):
    ran = run(path, level="memory")
    assert ran.error is None
    assert bool(ran.marked) != path.stem.startswith("sound")
    assert ran.lines == ran.marked, ran.san.report()


def test_growth_beside_what_was_there_before(run):
    """1 % of a gigabyte is more than the program's own tensors, and garbage from before may go at any time."""
    kept = torch.empty(1 << 28)
    ran = run(FIXTURES / "memory" / "predictions_of_every_epoch.py", level="memory")
    assert ran.lines == ran.marked, ran.san.report()
    assert kept.numel() == 1 << 28


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_sound_programs_are_silent(run, path):
    ran = run(path, level="memory")
    assert ran.error is None
    assert not ran.findings, ran.san.report()


def settings():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
        list(warnings.filters),
    )


@pytest.mark.parametrize("before", [(False, False), (True, True), (True, False)])
def test_settings_are_put_back(before):
    enabled, warn_only = before
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        old = settings()
        with torchsan.watch(on_finding="collect", level="memory"):
            assert torch.empty(3).isnan().all()
        assert settings() == old
        with torchsan.watch(on_finding="collect", level="thorough"):
            assert settings() == old
    finally:
        torch.use_deterministic_algorithms(False)
        torch.utils.deterministic.fill_uninitialized_memory = True
