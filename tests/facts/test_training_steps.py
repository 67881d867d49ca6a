"""What the pages on graphs, schedules and inference tensors say that PyTorch does, tried on PyTorch."""

from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="facts about PyTorch need PyTorch")
nn = torch.nn
F = torch.nn.functional
lr_scheduler = torch.optim.lr_scheduler


def layer():
    """A layer and a batch for it."""
    torch.manual_seed(0)
    return nn.Linear(3, 3), torch.randn(2, 3)


# 104


@pytest.mark.parametrize(("kind", "factor"), [(torch.optim.SGD, 4.0), (torch.optim.Adam, 1.0)])
def test_gradients_of_four_batches_make_sgd_step_four_times_as_far_and_adam_no_farther(kind, factor):
    moved = []
    for scale in (1, 4):
        model, x = layer()
        before = model.weight.detach().clone()
        optimizer = kind(model.parameters(), lr=0.01)
        (scale * model(x).square().mean()).backward()
        optimizer.step()
        moved.append((model.weight - before).norm().item())
    assert moved[1] == pytest.approx(factor * moved[0], rel=1e-3)


# 107


def test_a_second_backward_raises_unless_the_graph_is_retained():
    model, x = layer()
    loss = model(x).square().sum()
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


# 108


def test_backward_may_stand_under_no_grad_but_not_the_forward():
    model, x = layer()
    loss = model(x).sum()
    with torch.no_grad():
        loss.backward()
        blind = model(x).sum()
    assert model.weight.grad is not None
    with pytest.raises(RuntimeError, match="does not require grad"):
        blind.backward()


# 110, 111, 122


def rates(steps, make):
    """The learning rate after each of some iterations; `make` gives a scheduler or None."""
    model, _ = layer()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    scheduler, found = None, []
    for _ in range(steps):
        scheduler = make(optimizer, scheduler)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_one_cycle_starts_at_a_twenty_fifth_and_stays_there_without_steps():
    model, _ = layer()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=100)
    optimizer.step()
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1 / 25)


def test_a_cosine_that_is_stepped_past_its_end_goes_up_again():
    found = rates(20, lambda optimizer, old: old or lr_scheduler.CosineAnnealingLR(optimizer, T_max=10))
    assert found[9] == pytest.approx(0, abs=1e-6) and found[19] == pytest.approx(1.0)


def test_a_rebuilt_step_schedule_never_moves_and_an_exponential_one_does():
    assert rates(6, lambda optimizer, old: lr_scheduler.StepLR(optimizer, 2, 0.1)) == [1.0] * 6
    assert rates(3, lambda optimizer, old: lr_scheduler.ExponentialLR(optimizer, 0.5)) == [0.5, 0.25, 0.125]


# 115


KEEP_RESULT = "exp expm1 sqrt rsqrt reciprocal sigmoid tanh softmax log_softmax relu".split()


@pytest.mark.parametrize("name", KEEP_RESULT)
def test_functions_that_keep_their_result(name):
    model, x = layer()
    given = model(x).exp() + 1
    result = getattr(torch, name)(given, *([1] if "softmax" in name else []))
    result += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


@pytest.mark.parametrize("change", [lambda t: t * 2, F.gelu, torch.log, lambda t: F.dropout(t, 0.5)])
def test_functions_that_do_not_keep_their_result(change):
    model, x = layer()
    result = change(model(x).exp())
    result += 1
    result.sum().backward()


# 117


def test_a_tensor_made_of_a_loss_is_a_leaf_of_its_own():
    model, x = layer()
    for wrap in (torch.tensor, torch.autograd.Variable):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loss = wrap(model(x).sum(), requires_grad=True)
        loss.backward()
        assert loss.is_leaf and model.weight.grad is None


def test_argmax_ends_the_graph_and_round_leaves_a_gradient_of_zeros():
    model, x = layer()
    assert not model(x).argmax(1).requires_grad
    for function in (torch.round, torch.floor, torch.ceil, torch.trunc, torch.sign):
        model.zero_grad()
        function(model(x)).sum().backward()
        assert model.weight.grad.count_nonzero() == 0


# 126


def test_lbfgs_needs_a_closure():
    model, _ = layer()
    with pytest.raises(TypeError, match="closure"):
        torch.optim.LBFGS(model.parameters()).step()


# 135: docs/not-checked.md


def test_a_move_keeps_the_parameters_that_an_optimizer_holds():
    model, _ = layer()
    before = model.weight
    model.to(torch.float64)
    assert model.weight is before
    model.to_empty(device="cpu")
    assert model.weight is before
    lazy = nn.LazyLinear(2)
    optimizer = torch.optim.SGD(lazy.parameters(), lr=0.1)
    lazy(torch.randn(2, 3))
    assert optimizer.param_groups[0]["params"][0] is lazy.weight


# 128: docs/not-checked.md


def test_numpy_numbers_do_no_harm_to_a_loss_and_numpy_functions_raise():
    np = pytest.importorskip("numpy")
    model, x = layer()
    loss = model(x).sum()
    for result in (np.float64(2.0) * loss, loss * np.float64(2.0), loss + np.float64(1.0)):
        assert isinstance(result, torch.Tensor) and result.dtype == torch.float32 and result.requires_grad
    for call in (lambda: np.mean([loss, loss]), lambda: np.sqrt(loss), lambda: loss * np.array(1.0)):
        with pytest.raises(RuntimeError, match="requires grad"):
            call()


# 133


def test_zero_grad_drops_gradients_unless_told_otherwise():
    model, x = layer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert model.weight.grad.count_nonzero() == 0
    optimizer.zero_grad()
    assert model.weight.grad is None


# 137


def function(inputs, gradients):
    """An autograd function of so many inputs whose backward returns these values for a gradient."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *given):
            assert len(given) == inputs
            return given[0] * 2

        @staticmethod
        def backward(ctx, grad):
            return gradients(grad)

    return Made


def test_backward_returns_one_value_for_each_input_and_none_after_that():
    x = torch.ones(2, requires_grad=True)
    function(1, lambda g: (g, None, None)).apply(x).sum().backward()
    for inputs, gradients in ((2, lambda g: g), (1, lambda g: (g, g))):
        with pytest.raises(RuntimeError, match="incorrect number of gradients"):
            function(inputs, gradients).apply(x, *[2] * (inputs - 1)).sum().backward()


# 205


def test_inference_tensors_are_not_kept_for_backward():
    model, x = layer()
    with torch.inference_mode():
        features = model(x)
    with pytest.raises(RuntimeError, match="Inference tensors"):
        model(features)
    with pytest.raises(RuntimeError, match="Inference tensors"):
        F.mse_loss(model(x), features)
    assert features.flatten().is_inference() and features.to("cpu").is_inference()
    assert not features.clone().is_inference() and not (features * 2).is_inference()


# 206


def test_traces_and_exports_keep_the_training_mode_of_dropout():
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), torch.ones(64, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(model, x, check_trace=False).eval()
        exported = torch.export.export(model, (x,)).module()
    assert not torch.equal(traced(x), traced(x))
    assert not torch.equal(exported(x), exported(x))


@pytest.mark.parametrize(("given", "words"), [
    ((), "missing 1 required positional argument: 'metrics'"),
    ((None,), "float() argument must be a string or a real number, not 'NoneType'"),
])
def test_139_plateau_has_to_be_given_a_number(given, words):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    with pytest.raises(TypeError) as raised:
        scheduler.step(*given)
    assert words in str(raised.value)


def test_138_an_optimizer_takes_frozen_parameters_and_steps_over_them():
    frozen = nn.Parameter(torch.ones(1), requires_grad=False)
    optimizer = torch.optim.SGD([frozen], lr=0.1)
    optimizer.step()
    assert frozen.item() == 1
