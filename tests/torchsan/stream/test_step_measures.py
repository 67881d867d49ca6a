"""Norms of very many small tensors are taken together, and are the same as those of each."""

from __future__ import annotations

import pytest
import torch

from torchsan.stream import step_measures


@pytest.fixture
def given(monkeypatch):
    """How many tensors each call of `_foreach_norm` was given."""
    counts, original = [], torch._foreach_norm
    monkeypatch.setattr(step_measures.torch, "_foreach_norm", lambda values: counts.append(len(values)) or original(values))
    monkeypatch.setattr(step_measures, "_AT_ONCE", 100, raising=False)
    return counts


def crowd():
    torch.manual_seed(0)
    small = [torch.randn(shape) for _ in range(150) for shape in ((8, 8), (8,), ())]
    return [torch.randn(2000), *small, torch.randn(4, 8).t(), torch.randn(6, 9)[:, :7], torch.tensor([float("inf"), 1.0])]


def test_small_tensors_are_measured_together(given):
    values = crowd()
    norms = step_measures.norms(values)
    expected = torch.stack([torch.linalg.vector_norm(value) for value in values])
    torch.testing.assert_close(norms, expected, rtol=1e-6, atol=0)
    assert given == [1]  # the large one alone


def test_few_tensors_are_measured_as_ever(given):
    step_measures.norms(crowd()[:20])
    assert given == [20]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_programs_default_type_changes_nothing(dtype):
    values, before = crowd(), torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        assert step_measures.norms(values).dtype is torch.float32
    finally:
        torch.set_default_dtype(before)
