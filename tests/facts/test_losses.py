"""What rules/losses says of PyTorch, run on PyTorch."""

import math

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
F = pytest.importorskip("torch.nn.functional")


def logits_and_targets(rows=8, classes=10):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(rows, classes, generator=generator) * 5
    return scores, torch.randint(0, classes, (rows,), generator=generator)


def gradient_norm(loss_of, scores):
    scores = scores.clone().requires_grad_()
    loss_of(scores).backward()
    return scores.grad.norm().item()


CONFIDENTLY_WRONG = [[20.0, 0.0, 0.0]], [1]


# 301


def test_cross_entropy_is_log_softmax_and_nll():
    scores, targets = logits_and_targets()
    assert torch.allclose(F.cross_entropy(scores, targets), F.nll_loss(F.log_softmax(scores, 1), targets))


def test_cross_entropy_of_log_softmax_changes_nothing():
    scores, targets = logits_and_targets()
    assert torch.allclose(F.cross_entropy(F.log_softmax(scores, 1), targets), F.cross_entropy(scores, targets))


@pytest.mark.parametrize(("classes", "floor"), [(3, 0.5514), (10, 1.4612), (1000, 5.9095)])
def test_cross_entropy_of_probabilities_has_a_floor(classes, floor):
    certain_and_right = F.one_hot(torch.tensor([1]), classes).float()
    loss = F.cross_entropy(certain_and_right, torch.tensor([1])).item()
    assert loss == pytest.approx(floor, abs=1e-4)
    assert loss == pytest.approx(math.log(math.e + classes - 1) - 1, abs=1e-5)


def test_softmax_takes_the_gradient_from_confident_mistakes():
    scores, target = torch.tensor(CONFIDENTLY_WRONG[0]), torch.tensor(CONFIDENTLY_WRONG[1])
    assert gradient_norm(lambda s: F.cross_entropy(s, target), scores) > 1
    assert gradient_norm(lambda s: F.cross_entropy(s.softmax(1), target), scores) < 1e-7


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_before_cross_entropy_is_not_numerically_unstable(dtype):
    scores, targets = logits_and_targets()
    loss = F.cross_entropy((scores * 1000).to(dtype).softmax(1), targets)
    exact = F.cross_entropy((scores * 1000).to(dtype).double().softmax(1), targets)
    assert loss.isfinite() and loss.item() == pytest.approx(exact.item(), rel=0.01)


def test_the_target_of_cross_entropy_may_hold_probabilities():
    scores, _ = logits_and_targets()
    assert F.cross_entropy(scores, scores.flip(0).softmax(1)).isfinite()


# 302


def test_nll_loss_takes_no_logarithm():
    scores, targets = logits_and_targets()
    assert torch.allclose(F.nll_loss(scores, targets), -scores.gather(1, targets[:, None]).mean())


def test_nll_loss_of_probabilities_lies_between_minus_one_and_zero():
    scores, targets = logits_and_targets()
    assert -1 <= F.nll_loss(scores.softmax(1), targets).item() <= 0
    assert F.nll_loss(torch.zeros(4, 5).softmax(1), torch.arange(4)).item() == pytest.approx(-1 / 5)


def test_nll_loss_has_the_same_slope_for_every_probability():
    probabilities = torch.tensor([[0.9, 0.1], [0.0001, 0.9999]], requires_grad=True)
    F.nll_loss(probabilities, torch.tensor([0, 0]), reduction="sum").backward()
    assert probabilities.grad[:, 0].tolist() == [-1, -1]


def test_only_the_logarithm_makes_confident_mistakes_count():
    scores, target = torch.tensor(CONFIDENTLY_WRONG[0]), torch.tensor(CONFIDENTLY_WRONG[1])
    assert gradient_norm(lambda s: F.nll_loss(s.log_softmax(1), target), scores) > 1
    assert gradient_norm(lambda s: F.nll_loss(s.softmax(1), target), scores) < 1e-7


def test_nll_loss_of_raw_scores_has_no_lower_bound():
    scores, targets = logits_and_targets()
    assert F.nll_loss(scores + 1000, targets).item() == pytest.approx(F.nll_loss(scores, targets).item() - 1000, rel=1e-4)


def test_the_log_of_a_softmax_holds_log_probabilities():
    scores, _ = logits_and_targets()
    assert torch.allclose(scores.softmax(1).log(), scores.log_softmax(1), atol=1e-5)


# 303


def test_bce_with_logits_is_sigmoid_and_bce():
    scores, target = torch.randn(20), torch.rand(20)
    together = F.binary_cross_entropy_with_logits(scores, target)
    assert torch.allclose(together, F.binary_cross_entropy(scores.sigmoid(), target), atol=1e-5)


def test_bce_with_logits_of_a_sigmoid_has_a_floor():
    best = F.binary_cross_entropy_with_logits(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]), reduction="none")
    assert best.tolist() == pytest.approx([0.3133, 0.6931], abs=1e-4)
    assert best[1].item() == pytest.approx(math.log(2))


def test_a_sigmoid_of_a_sigmoid_is_never_below_one_half():
    twice = torch.linspace(-50, 50, 101).sigmoid().sigmoid()
    assert twice.min().item() == pytest.approx(0.5) and twice.max().item() == pytest.approx(0.7311, abs=1e-4)


def test_the_inner_sigmoid_shrinks_the_gradient():
    target = torch.ones(1)
    for score in (-20.0, 0.0, 3.0):
        plain = gradient_norm(lambda s: F.binary_cross_entropy_with_logits(s, target), torch.tensor([score]))
        inner = torch.tensor([score]).sigmoid()
        outer = gradient_norm(lambda s: F.binary_cross_entropy_with_logits(s, target), inner)
        both = gradient_norm(lambda s: F.binary_cross_entropy_with_logits(s.sigmoid(), target), torch.tensor([score]))
        assert both <= outer / 4 + 1e-7
        if score == -20:
            assert plain > 0.99 and both < 1e-8


# 308, 309


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_by_value_broadcast_and_warn(loss):
    column, row = torch.tensor([[0.0], [1.0], [2.0], [4.0]]), torch.tensor([3.0, -1.0, 0.5, 2.5])
    with pytest.warns(UserWarning, match="different to the input size"):
        pairs = loss(column, row)
    assert pairs.item() == pytest.approx(loss(column.expand(4, 4), row.expand(4, 4)).item())
    assert pairs.item() != pytest.approx(loss(column.squeeze(1), row).item())


def test_the_best_answer_to_all_pairs_is_the_mean():
    targets = torch.tensor([1.0, 2.0, 6.0])
    predictions = torch.zeros(3, 1, requires_grad=True)
    with pytest.warns(UserWarning):
        for _ in range(200):
            (gradient,) = torch.autograd.grad(F.mse_loss(predictions, targets), predictions)
            predictions = (predictions - gradient).detach().requires_grad_()
    assert torch.allclose(predictions, targets.mean().expand(3, 1), atol=1e-3)


@pytest.mark.parametrize("loss", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_binary_losses_take_two_of_one_shape(loss):
    with pytest.raises(ValueError, match="size"):
        loss(torch.rand(4, 1), torch.rand(4))


@pytest.mark.parametrize(
    ("scores", "target"), [((8, 20, 100), (8, 20)), ((160, 100), (8, 20)), ((8, 10), (8, 1)), ((8, 10), (7,))]
)
def test_what_cross_entropy_refuses(scores, target):
    with pytest.raises((RuntimeError, ValueError)):
        F.cross_entropy(torch.randn(scores), torch.zeros(target, dtype=torch.long))


def test_class_numbers_where_length_and_classes_are_equal():
    scores, target = torch.randn(2, 5, 5), torch.zeros(2, 5, dtype=torch.long)
    assert F.cross_entropy(scores, target) != F.cross_entropy(scores.transpose(1, 2), target)
