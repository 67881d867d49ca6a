"""What rules/losses and rules/tensors say of dtypes and targets, run on PyTorch."""

import math
import warnings

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
F = pytest.importorskip("torch.nn.functional")
nn = torch.nn

SCORES, LABELS = torch.tensor([[2.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), torch.tensor([0, 2])


def test_304_bce_is_flat_where_the_sigmoid_is_rounded_and_logits_are_not():
    score, zero = torch.tensor([20.0], requires_grad=True), torch.zeros(1)
    loss = F.binary_cross_entropy(score.sigmoid(), zero)
    loss.backward()
    assert (loss.item(), score.grad.item()) == (100.0, 0.0)
    score.grad = None
    loss = F.binary_cross_entropy_with_logits(score, zero)
    loss.backward()
    assert loss.item() == pytest.approx(20) and score.grad.item() == pytest.approx(1)


def test_305_log_of_softmax_is_minus_infinity_where_log_softmax_is_not():
    scores = torch.tensor([0.0, 200.0])
    assert scores.softmax(0).log()[0] == -math.inf
    assert scores.log_softmax(0)[0] == -200
    assert torch.tensor([0.0, 18.0]).half().softmax(0)[0] == 0


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.bool])
def test_306_cross_entropy_refuses_other_integers(dtype):
    with pytest.raises(RuntimeError):
        F.cross_entropy(SCORES, LABELS.to(dtype))


def test_306_what_is_taken():
    F.cross_entropy(SCORES, LABELS.byte())
    F.cross_entropy(SCORES, F.one_hot(LABELS, 3).float())
    F.mse_loss(SCORES.sum(1), LABELS)
    F.l1_loss(SCORES.sum(1), LABELS)
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        with pytest.raises(RuntimeError):
            loss(torch.tensor([0.5, 0.5]), torch.tensor([0, 1]))
    with pytest.raises(RuntimeError):
        F.nll_loss(SCORES, LABELS.float())


@pytest.mark.parametrize("label", [3, -1])
def test_307_labels_outside_the_classes_raise(label):
    with pytest.raises(IndexError, match="out of bounds"):
        F.cross_entropy(SCORES, torch.tensor([0, label]))
    F.cross_entropy(SCORES, torch.tensor([0, -100]))
    F.cross_entropy(SCORES, torch.tensor([0, label]), ignore_index=label)


def test_310_swapped_cross_entropy_has_no_lower_bound():
    target = F.one_hot(LABELS, 3).float()
    assert F.cross_entropy(target, 100 * SCORES) > F.cross_entropy(target, SCORES)
    assert F.cross_entropy(target, -100 * SCORES) < F.cross_entropy(target, -SCORES) < 0
    with pytest.raises(RuntimeError):
        F.cross_entropy(LABELS, SCORES)


def test_311_kl_div_of_probabilities_is_negative_and_its_slope_is_the_target():
    wanted = SCORES.softmax(1)
    got = wanted.clone().requires_grad_()
    loss = F.kl_div(got, wanted, reduction="sum")
    loss.backward()
    assert loss < 0
    assert torch.allclose(got.grad, -wanted)
    assert F.kl_div(wanted.log(), wanted, reduction="batchmean").item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("shape", "dim"), [((4,), 0), ((4, 3), 1), ((2, 4, 3), 0), ((2, 3, 4, 4), 1)])
def test_312_the_guessed_dimension(shape, dim):
    x = torch.randn(shape)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert torch.allclose(F.softmax(x), F.softmax(x, dim=dim))
    assert any("Implicit dimension choice" in str(warning.message) for warning in told)


def test_313_relu_stops_the_gradient_of_negative_scores():
    scores = torch.tensor([[-1.0, -2.0, -3.0]], requires_grad=True)
    loss = F.cross_entropy(scores.relu(), torch.tensor([0]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(3)) and not scores.grad.any()


def test_314_the_slope_of_a_square_root_at_zero():
    x = torch.ones(3, requires_grad=True)
    F.mse_loss(x, torch.ones(3)).sqrt().backward()
    assert x.grad.isnan().all()


def test_317_digits():
    small = torch.tensor(1e-8)
    assert torch.log(1 + small) == 0 and torch.log1p(small) > 0
    assert torch.exp(small) - 1 == 0 and torch.expm1(small) > 0
    large = torch.tensor([89.0, 89.0])
    assert large.exp().sum().log() == math.inf and large.logsumexp(0).isfinite()


def test_318_float16_takes_no_value_beyond_its_range():
    mask = torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(2).half().masked_fill(mask, -1e9)
    for value in (-65504.0, -math.inf):
        assert torch.zeros(2).half().masked_fill(mask, value)[0] == value
    assert torch.zeros(2).bfloat16().masked_fill(mask, -1e9)[0] < -9e8


def test_409_layers_refuse_integers():
    with pytest.raises(RuntimeError, match="same dtype"):
        nn.Linear(3, 1)(torch.tensor([[1, 2, 3]]))
    for layer in (nn.LayerNorm(3), nn.BatchNorm1d(3), nn.GroupNorm(3, 3)):
        with pytest.raises((RuntimeError, NotImplementedError)):
            layer(torch.tensor([[1, 2, 3], [1, 2, 3]]))


def test_410_float64():
    model, wide = nn.Linear(3, 1), torch.from_numpy(np.ones((2, 3)))
    assert wide.dtype == torch.tensor(np.ones(2)).dtype == torch.float64
    with pytest.raises(RuntimeError, match="same dtype"):
        model(wide)
    loss = F.mse_loss(model(wide.float()), wide[:, :1])
    loss.backward()
    assert (loss.dtype, model.weight.grad.dtype) == (torch.float64, torch.float32)
    with pytest.raises(RuntimeError, match="Double"):
        F.binary_cross_entropy(model(wide.float()).sigmoid(), wide[:, :1])


@pytest.mark.parametrize("dtype", [torch.int16, torch.uint8, torch.float32])
def test_411_indices_are_int64_or_int32(dtype):
    index, x = torch.tensor([[0], [1]]), torch.ones(2, 2)
    x.gather(1, index.int())
    nn.Embedding(2, 2)(index.int())
    with pytest.raises(RuntimeError):
        x.gather(1, index.to(dtype))
    with pytest.raises(RuntimeError):
        nn.Embedding(2, 2)(index.to(dtype))
    with pytest.raises(RuntimeError):
        F.one_hot(index.int(), 3)


def test_412_torch_tensor_of_a_tensor_warns_and_cuts_the_graph():
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="copy construct"):
        assert not torch.tensor(x * 2).requires_grad


def test_414_expanded_tensors_refuse_what_differs():
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1, 3).expand(2, 3).add_(torch.randn(2, 3))
    x = torch.zeros(1, 3).expand(2, 3)
    x[0] = 1
    assert x[1].eq(1).all()
    x.zero_()
    copy = torch.zeros(1, 3).expand(2, 3).clone()
    copy[0] = 1
    assert not copy[1].any()


def test_416_numpy_needs_detach():
    x = nn.Linear(2, 1)(torch.ones(1, 2))
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
    x.detach().numpy()
    with torch.no_grad():
        nn.Linear(2, 1)(torch.ones(1, 2)).numpy()


def test_427_nan_equals_nothing():
    x = torch.tensor([1.0, math.nan])
    assert not (x == torch.nan).any() and (x != math.nan).all()
    assert torch.equal(x != x, torch.isnan(x))


def test_429_a_list_of_arrays_is_slow_and_says_so():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = torch.tensor([np.ones(2), np.ones(2)])
    assert made.shape == (2, 2)
    assert all("extremely slow" in str(warning.message) for warning in told)  # said once in a process


def test_430_a_tensor_stays_where_it_is_and_a_module_goes():
    tensor, module = torch.ones(2), nn.Linear(2, 1)
    assert tensor.to("meta").is_meta and not tensor.is_meta
    module.to("meta")
    assert module.weight.is_meta
