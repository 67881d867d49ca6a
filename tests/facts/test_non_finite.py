"""What the pages 413, 422 and 423 claim of NaN, infinity and empty memory."""

import pytest
import torch
from torch import nn


def gradient(function, value):
    x = torch.tensor(value, requires_grad=True)
    function(x).sum().backward()
    return x.grad


@pytest.mark.parametrize("function", [torch.sqrt, torch.rsqrt, lambda x: x**0.5, lambda x: torch.hypot(x, 0 * x)])
def test_roots_have_no_slope_at_zero(function):
    assert not gradient(function, [0.0, 0.0]).isfinite().all()


@pytest.mark.parametrize(
    "function",
    [torch.norm, torch.std, torch.linalg.vector_norm, lambda x: torch.cdist(x[None], 0 * x[None].detach())],
)
def test_where_torch_takes_the_root_the_slope_is_0(function):
    assert (gradient(function, [0.0, 0.0]) == 0).all()


def test_a_small_number_under_the_root_mends_it():
    assert gradient(lambda x: torch.sqrt(x + 1e-12), [0.0]).isfinite().all()


def test_where_does_not_help():
    assert gradient(lambda x: torch.where(x > 0, x.sqrt(), 0), [0.0]).isnan().all()
    assert gradient(lambda x: torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0), [0.0]).isfinite().all()


@pytest.mark.parametrize("function", [torch.log, lambda x: 0 / x, lambda x: torch.exp(x + 100)])
def test_nan_to_num_does_not_help(function):
    assert gradient(lambda x: torch.nan_to_num(function(x), 0.0, 0.0, 0.0), [0.0]).isnan().all()


def test_clipping_does_not_help():
    model = nn.Linear(2, 2)
    model.weight.grad, model.bias.grad = torch.ones(2, 2), torch.tensor([1.0, float("nan")])
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert model.weight.grad.isnan().all()


def test_anomaly_mode_sees_nan_in_backward_alone():
    def backward(x):
        torch.log(x).sum().backward()

    with torch.autograd.set_detect_anomaly(True):
        backward(torch.tensor([0.0], requires_grad=True))  # -inf in the forward, inf in the backward
        backward(torch.tensor([-1.0], requires_grad=True))  # NaN in the forward
        with pytest.raises(RuntimeError, match="nan"), pytest.warns(UserWarning):
            torch.sqrt(torch.tensor([0.0], requires_grad=True)).mul(0).sum().backward()


def test_softmax_of_a_masked_row():
    assert torch.full((3,), -float("inf")).softmax(0).isnan().all()
    assert torch.full((3,), -1e4).softmax(0).isfinite().all()


def test_a_mean_of_nothing():
    ignored = torch.full((3,), -100)
    assert nn.functional.cross_entropy(torch.zeros(3, 2), ignored).isnan()
    assert torch.zeros(0).mean().isnan()


def test_empty_memory_is_filled_in_deterministic_mode():
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert torch.empty(3).isnan().all()
        assert torch.zeros(3).new_empty(2).isnan().all()
        assert torch.empty_like(torch.zeros(3)).isnan().all()
        assert torch.Tensor(3, 4).isnan().all()
        assert (torch.empty(2, dtype=torch.int64) == torch.iinfo(torch.int64).max).all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_layers_begin_with_empty_memory():
    class Linear(nn.Linear):
        def reset_parameters(self):
            pass

    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        assert Linear(2, 2).weight.isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)
