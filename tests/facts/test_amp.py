"""What rules/amp says of PyTorch, run on PyTorch. A GradScaler for the CPU does what the one for CUDA does."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
nn = pytest.importorskip("torch.nn")

STALE = r"step\(\) has already been called since the last update\(\)"


class Training:
    def __init__(self, **options):
        torch.manual_seed(0)
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0)
        self.scaler = torch.amp.GradScaler("cpu", **options)
        self.x = torch.randn(8, 4)

    def backward(self):
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(self.x).square().mean()).backward()

    def norm(self):
        return torch.cat([p.grad.flatten() for p in self.model.parameters()]).norm().item()

    def clip(self, limit=1.0):
        nn.utils.clip_grad_norm_(self.model.parameters(), limit)


# 703


def test_gradients_carry_the_scale_until_the_step():
    plain, scaled = Training(enabled=False), Training()
    plain.backward()
    scaled.backward()
    assert scaled.scaler.get_scale() == 65536
    assert scaled.norm() == pytest.approx(plain.norm() * 65536, rel=1e-4)
    scaled.scaler.step(scaled.optimizer)
    assert scaled.norm() == pytest.approx(plain.norm(), rel=1e-4)


def test_clipping_scaled_gradients_clips_to_a_tiny_norm():
    training = Training()
    training.backward()
    training.clip(1.0)
    training.scaler.step(training.optimizer)
    assert training.norm() == pytest.approx(1 / 65536, rel=1e-3)


def test_unscaled_gradients_are_clipped_as_asked_and_not_divided_again():
    training = Training()
    training.backward()
    training.scaler.unscale_(training.optimizer)
    true = training.norm()
    training.clip(true / 2)
    training.scaler.step(training.optimizer)
    assert training.norm() == pytest.approx(true / 2, rel=1e-3)


def test_unscaling_twice_raises():
    training = Training()
    training.backward()
    training.scaler.unscale_(training.optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        training.scaler.unscale_(training.optimizer)


# 704


def test_the_second_step_without_update_raises():
    training = Training()
    training.backward()
    training.scaler.step(training.optimizer)
    training.backward()
    with pytest.raises(RuntimeError, match=STALE):
        training.scaler.step(training.optimizer)


def test_unscaling_after_a_step_without_update_raises():
    training = Training()
    training.backward()
    training.scaler.step(training.optimizer)
    training.backward()
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step\(\)"):
        training.scaler.unscale_(training.optimizer)


def test_a_disabled_scaler_does_not_mind():
    training = Training(enabled=False)
    for _ in range(3):
        training.backward()
        training.scaler.step(training.optimizer)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_default_scaler_without_cuda_disables_itself_with_a_warning():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scaler = torch.amp.GradScaler()
    assert not scaler.is_enabled() and any("Disabling" in str(warning.message) for warning in said)


def test_update_moves_the_scale():
    training = Training(growth_interval=2)
    assert torch.amp.GradScaler("cpu").get_growth_interval() == 2000
    for _ in range(2):
        training.backward()
        training.scaler.step(training.optimizer)
        training.scaler.update()
    assert training.scaler.get_scale() == 2 * 65536
    training.backward()
    training.model.weight.grad.fill_(float("inf"))
    before = training.model.weight.clone()
    training.scaler.step(training.optimizer)
    training.scaler.update()
    assert training.scaler.get_scale() == 65536 and torch.equal(training.model.weight, before)


def test_one_update_serves_two_optimizers():
    training, other = Training(), nn.Linear(4, 2)
    second = torch.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(2):
        second.zero_grad()
        training.optimizer.zero_grad()
        loss = training.model(training.x).square().mean() + other(training.x).square().mean()
        training.scaler.scale(loss).backward()
        training.scaler.step(training.optimizer)
        training.scaler.step(second)
        training.scaler.update()


def test_an_update_between_two_optimizers_may_unscale_by_the_wrong_scale():
    training, other = Training(growth_interval=1), nn.Linear(4, 2)
    second = torch.optim.SGD(other.parameters(), lr=0.1)
    loss = training.model(training.x).square().mean() + other(training.x).square().mean()
    training.scaler.scale(loss).backward()
    scaled = other.weight.grad.norm().item()
    training.scaler.step(training.optimizer)
    training.scaler.update()
    training.scaler.step(second)
    assert other.weight.grad.norm().item() == pytest.approx(scaled / (2 * 65536), rel=1e-4)


# 705


def test_a_step_around_the_scaler_is_as_many_times_too_long():
    plain, scaled = Training(enabled=False), Training()
    moved = []
    for training in (plain, scaled):
        before = training.model.weight.detach().clone()
        training.backward()
        training.optimizer.step()
        moved.append((training.model.weight - before).norm().item())
    assert moved[1] == pytest.approx(moved[0] * 65536, rel=1e-3)


# 709


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cross_entropy_of_probabilities_is_float32_under_autocast_of_the_cpu(dtype):
    with torch.autocast("cpu"):
        assert nn.functional.binary_cross_entropy(torch.rand(4, dtype=dtype), torch.rand(4)).dtype is torch.float32


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_cross_entropy_of_probabilities_is_refused_under_autocast_of_cuda(dtype):
    values = torch.rand(4, device="cuda")
    with torch.autocast("cuda", dtype=dtype), pytest.raises(RuntimeError, match="unsafe to autocast"):
        nn.functional.binary_cross_entropy(values, values)


# 712


def test_gradients_are_unscaled_once():
    training = Training()
    training.backward()
    training.scaler.unscale_(training.optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        training.scaler.unscale_(training.optimizer)


def test_gradients_are_not_unscaled_after_the_step():
    training = Training()
    training.backward()
    training.scaler.step(training.optimizer)
    with pytest.raises(RuntimeError, match="after step"):
        training.scaler.unscale_(training.optimizer)
