"""What rules 921 and 934 claim of torch.compile and of deterministic algorithms."""

import inspect

import pytest
import torch
import torch._dynamo
from torch import nn


def breaks(function):
    torch._dynamo.reset()
    return torch._dynamo.explain(function)(torch.randn(4)).graph_break_count


def reads(x):
    return x * (x * 2).sum().item()


def converts(x):
    return x * float((x * 2).sum())


def lists(x):
    return x * (x * 2).tolist()[0]


def prints(x):
    print((x * 2).shape)
    return x * 2


def decides(x):
    return x + 1 if (x * 2).sum() > 0 else x - 1


@pytest.mark.parametrize("function", [reads, converts, lists, prints, decides])
def test_what_breaks_a_graph(function):
    assert breaks(function) >= 1


def in_numpy(x):
    return x + torch.from_numpy(x.detach().numpy() + 1)


def by_shape(x):
    return x + 1 if x.shape[0] > 2 else x


def selects(x):
    return torch.where(x.sum() > 0, x + 1, x - 1)


@pytest.mark.parametrize("function", [in_numpy, by_shape, selects])
def test_what_does_not(function):
    assert breaks(function) == 0


def test_a_number_is_captured_where_the_whole_graph_is_asked_for():
    torch._dynamo.reset()
    x = torch.randn(4)
    assert torch.equal(torch.compile(reads, fullgraph=True, backend="eager")(x), reads(x))


def test_pooling_to_one_place_is_a_mean():
    x = torch.randn(1, 2, 4, 4, requires_grad=True)
    assert type(nn.AdaptiveAvgPool2d(1)(x).grad_fn).__name__.startswith("MeanBackward")
    assert type(nn.AdaptiveAvgPool2d(2)(x).grad_fn).__name__.startswith("AdaptiveAvgPool2D")


def test_interpolate_has_a_deterministic_way():
    assert "interpolate" in torch.use_deterministic_algorithms.__doc__
    assert "are_deterministic_algorithms_enabled" in inspect.getsource(nn.functional.interpolate)
