"""What the pages of rules/gradients say that PyTorch does, tried on PyTorch."""

from __future__ import annotations

import copy
import gc
import warnings
import weakref

import pytest

torch = pytest.importorskip("torch", reason="facts about PyTorch need PyTorch")
nn = torch.nn
F = torch.nn.functional

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"


def regression(layers: int = 1):
    """A small model with one fixed batch."""
    torch.manual_seed(0)
    model = nn.Linear(6, 1) if layers == 1 else nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    inputs = torch.randn(16, 6)
    return model, inputs, inputs.sum(1, keepdim=True)


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def same(first, second) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second))


# 101


def test_backward_adds_and_step_does_not_clear():
    model, x, y = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    F.mse_loss(model(x), y).backward()
    once = model.weight.grad.clone()
    optimizer.step()
    assert torch.equal(model.weight.grad, once)
    F.mse_loss(model(x), y).backward()
    assert torch.allclose(model.weight.grad, 2 * once)


def test_without_zero_grad_the_loss_changes_from_epoch_to_epoch_and_ends_worse():
    def losses(clear):
        model, x, y = regression()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        seen = []
        for _ in range(60):
            if clear:
                optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        return seen

    stale, fresh = losses(clear=False), losses(clear=True)
    assert len({round(loss, 6) for loss in stale[:5]}) == 5
    assert stale[2] < stale[0]  # it does not explode at the second step either
    assert max(stale[30:]) > 2 * max(fresh[30:])


@pytest.mark.parametrize("cls", [torch.optim.SGD, torch.optim.AdamW])
def test_zero_grad_after_step_equals_zero_grad_before_backward(cls):
    def run(after):
        model, x, y = regression()
        optimizer = cls(model.parameters(), lr=0.05)
        for _ in range(10):
            if not after:
                optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            if after:
                optimizer.zero_grad()
        return weights(model)

    assert same(run(after=True), run(after=False))


def test_generator_backward_fills_the_discriminator():
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    discriminator(generator(torch.randn(4, 2))).mean().backward()
    assert discriminator.weight.grad is not None


@pytest.mark.parametrize(("clear", "seen"), [
    (lambda optimizer, model: optimizer.zero_grad(), [1, 2, 3, 4]),
    (lambda optimizer, model: optimizer.zero_grad(set_to_none=False), [1, 1, 1, 1]),
    (lambda optimizer, model: (optimizer.zero_grad(), model.zero_grad()), [1, 1, 1, 1]),
    (lambda optimizer, model: model.zero_grad(), [1, 1, 1, 1]),
])
def test_gradients_that_are_handed_on_are_cleared_where_they_were_handed_to_only(clear, seen):
    """As the workers of A3C do it: since torch 2.0 `zero_grad()` takes the tensor away from the shared model, and leaves it as it is."""
    model, shared = nn.Linear(2, 1), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(shared.parameters(), lr=0.0)
    found = []
    for _ in range(4):
        model.load_state_dict(shared.state_dict())
        clear(optimizer, model)
        model(torch.ones(1, 2)).sum().backward()
        for own, its in zip(model.parameters(), shared.parameters()):
            its._grad = own.grad
        optimizer.step()
        found.append(shared.weight.grad[0, 0].item())
    assert found == seen


# 102


def test_zero_grad_sets_none_and_step_skips_none():
    model, x, y = regression()
    for optimizer in (
        torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1),
        torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5),
    ):
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        F.mse_loss(model(x), y).backward()
        optimizer.zero_grad()
        assert all(p.grad is None for p in model.parameters())
        before = weights(model)
        optimizer.step()
        assert same(before, weights(model))


def test_step_on_zeros_still_moves_by_momentum_and_decay():
    for options in ({"momentum": 0.9}, {"weight_decay": 0.1}):
        weight = nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([weight], lr=0.1, **options)
        weight.grad = torch.ones(1)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        before = weight.item()
        optimizer.step()
        assert weight.item() != before


def test_scaler_step_without_gradients_raises():
    model, x, y = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(F.mse_loss(model(x), y)).backward()
    optimizer.zero_grad()
    with pytest.raises(AssertionError, match="No inf checks were recorded"):
        scaler.step(optimizer)


# 103


def test_step_without_any_gradient_is_silent_and_changes_nothing():
    model, _, _ = regression()
    before = weights(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.optim.AdamW(model.parameters(), lr=0.1).step()
    assert same(before, weights(model))


def test_backward_changes_no_weight():
    model, x, y = regression()
    before = weights(model)
    F.mse_loss(model(x), y).backward()
    assert same(before, weights(model))


def test_a_step_uses_gradients_that_were_written_by_hand():
    weight = nn.Parameter(torch.zeros(2))
    weight.grad = torch.ones(2)
    torch.optim.SGD([weight], lr=0.5).step()
    assert weight.tolist() == [-0.5, -0.5]


# 106


class Saved:
    def __init__(self, tensor):
        self.tensor = tensor


def living_activations(backward: bool, retain: bool = False) -> tuple[int, int]:
    """How many tensors were saved for backward over some iterations, and how many of them a running sum keeps."""
    model, x, y = regression(layers=2)
    references = []

    def pack(tensor):
        saved = Saved(tensor)
        references.append(weakref.ref(saved))
        return saved

    total = 0.0
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        for _ in range(4):
            loss = F.mse_loss(model(x), y)
            if backward:
                loss.backward(retain_graph=retain)
            total = total + loss
    gc.collect()
    assert total.grad_fn is not None
    return len(references), sum(reference() is not None for reference in references)


def test_a_sum_of_losses_keeps_the_graphs_and_backward_frees_what_they_saved():
    saved, alive = living_activations(backward=True)
    assert saved > 0 and alive == 0
    saved, alive = living_activations(backward=False)
    assert alive == saved > 0
    saved, alive = living_activations(backward=True, retain=True)
    assert alive == saved > 0


def test_the_nodes_stay_alive_after_backward():
    model, x, y = regression()
    total, nodes = 0.0, []
    for _ in range(3):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        token = Saved(None)
        loss.grad_fn.metadata["token"] = token
        nodes.append(weakref.ref(token))
        del token
        total = total + loss
    del loss
    gc.collect()
    assert all(node() is not None for node in nodes)
    total = total.detach()
    gc.collect()
    assert all(node() is None for node in nodes)


def test_a_loss_has_no_graph_under_no_grad():
    model, x, y = regression()
    with torch.no_grad():
        assert F.mse_loss(model(x), y).grad_fn is None


# 109


def rates(first: str) -> tuple[list[float], list[str]]:
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    used = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            if first == "scheduler":
                scheduler.step()
            weight.grad = torch.ones(1)
            used.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if first == "optimizer":
                scheduler.step()
    return used, [str(warning.message) for warning in caught]


def test_scheduler_first_skips_the_first_rate_and_warns_once():
    used, messages = rates("scheduler")
    assert used == [0.5, 0.25, 0.125]
    assert len(messages) == 1 and "before `optimizer.step()`" in messages[0]


def test_optimizer_first_uses_every_rate_and_is_silent():
    assert rates("optimizer") == ([1.0, 0.5, 0.25], [])


def test_a_step_skipped_by_the_scaler_makes_a_false_warning():
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale((weight * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()


def test_plateau_before_the_optimizer_is_fine():
    weight = nn.Parameter(torch.ones(1))
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(torch.optim.SGD([weight], lr=1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step(1.0)


# 112


def test_clip_before_backward_finds_nothing():
    model, _, _ = regression()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.utils.clip_grad_norm_(model.parameters(), 1.0) == 0.0


def test_clip_value_before_backward_raises_or_does_nothing():
    model, _, _ = regression()
    try:
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
    except RuntimeError as error:
        assert "empty" in str(error)  # torch 2.13; other versions may differ
    assert all(p.grad is None for p in model.parameters())


def test_clip_after_step_does_not_change_the_update():
    def run(clip):
        model, x, y = regression()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        return weights(model)

    assert same(run(clip=True), run(clip=False))


def test_clip_to_infinity_only_measures():
    model, x, y = regression()
    F.mse_loss(model(x), y).backward()
    before = [p.grad.clone() for p in model.parameters()]
    assert nn.utils.clip_grad_norm_(model.parameters(), float("inf")) > 0
    assert same(before, [p.grad for p in model.parameters()])


# 114


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.add_(1),
        lambda w: w.__iadd__(1),
        lambda w: w.normal_(),
        lambda w: w.__setitem__(0, 0.0),
        lambda w: w.view(-1).mul_(2),
        lambda w: F.relu(w, inplace=True),
    ],
)
def test_in_place_on_a_leaf_raises_only_while_recording(change):
    weight = nn.Parameter(torch.ones(3))
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        change(weight)
    with torch.no_grad():
        change(weight)
    with torch.inference_mode():
        change(weight)
    assert weight.is_leaf and weight.requires_grad


def test_in_place_on_a_sum_is_no_error():
    x = torch.randn(4, requires_grad=True)
    y = x + 1
    y += 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


def test_a_copied_model_has_leaves_too():
    average = copy.deepcopy(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match=LEAF):
        average.weight.lerp_(torch.zeros(2, 2), 0.1)
    average.requires_grad_(False)
    average.weight.mul_(0.9)


def test_init_functions_enter_no_grad():
    weight = nn.Parameter(torch.ones(3, 3))
    assert nn.init.normal_(weight) is weight and weight.requires_grad


def test_data_hides_a_change_that_no_grad_shows():
    weight = torch.tensor([3.0], requires_grad=True)
    loss = (weight * weight).sum()
    weight.data.mul_(10)
    loss.backward()
    assert weight.grad.item() == 60.0  # silently wrong: it was 6 when the loss was computed

    weight = torch.tensor([3.0], requires_grad=True)
    loss = (weight * weight).sum()
    with torch.no_grad():
        weight.mul_(10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


# 116


class Holder(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.kept = change(nn.Parameter(torch.randn(3)))


@pytest.mark.parametrize("change", [lambda p: p.double(), lambda p: p.view(1, 3), lambda p: p * 0.02])
def test_a_result_of_a_parameter_is_not_registered(change):
    module = Holder(change)
    assert not list(module.parameters()) and not module.state_dict()
    assert module.kept.requires_grad and not module.kept.is_leaf


def test_a_move_that_moves_nothing_returns_the_parameter_itself():
    assert len(list(Holder(lambda p: p.to("cpu")).parameters())) == 1
    assert len(list(Holder(lambda p: p.to("meta")).parameters())) == 0


def test_an_optimizer_refuses_results_and_takes_detached_copies():
    weight = nn.Parameter(torch.ones(2))
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        torch.optim.SGD([weight.double()], lr=0.1)
    copied = weight.detach().clone()
    optimizer = torch.optim.SGD([copied], lr=0.1)
    optimizer.step()
    assert not copied.requires_grad and copied.tolist() == [1.0, 1.0]


def test_module_to_keeps_its_parameter_objects():
    model, _, _ = regression()
    before = list(model.parameters())
    assert all(a is b for a, b in zip(before, model.to(torch.float64).parameters()))


# 118


def test_a_layer_replaced_after_the_optimizer_was_built_gets_gradients_but_no_update():
    model, x, y = regression(layers=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    old = model[2]
    model[2] = nn.Linear(8, 1)
    before = weights(model[2])
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    assert model[2].weight.grad is not None and same(before, weights(model[2]))
    assert old.weight.grad is None


def test_values_may_change_under_the_optimizer():
    model, _, _ = regression()
    before = list(model.parameters())
    model.load_state_dict({name: torch.zeros_like(value) for name, value in model.state_dict().items()})
    model.requires_grad_(False).requires_grad_(True)
    assert all(a is b for a, b in zip(before, model.parameters()))


def test_add_param_group_takes_a_generator():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
    optimizer.add_param_group({"params": second.parameters(), "lr": 1.0})
    assert [len(group["params"]) for group in optimizer.param_groups] == [2, 2]


# 123


def test_an_update_out_of_place_loses_the_leaf():
    first = w = torch.ones(1, requires_grad=True)
    (w * w).sum().backward()
    w = w - 0.1 * w.grad
    assert w.requires_grad and not w.is_leaf
    first.grad = None
    (w * w).sum().backward()
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert w.grad is None
    assert first.grad is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError, match="'float' and 'NoneType'"):
            w = w - 0.1 * w.grad


def test_an_update_in_place_raises():
    w = torch.ones(1, requires_grad=True)
    (w * w).sum().backward()
    with pytest.raises(RuntimeError, match=LEAF):
        w -= 0.1 * w.grad


def test_rebinding_under_no_grad_loses_requires_grad_and_in_place_does_not():
    w = torch.ones(1, requires_grad=True)
    (w * w).sum().backward()
    with torch.no_grad():
        rebound = w - 0.1 * w.grad
        w -= 0.1 * w.grad
    assert not rebound.requires_grad
    assert w.requires_grad and w.is_leaf
    with pytest.raises(RuntimeError, match="does not require grad"):
        (rebound * rebound).sum().backward()


# 130


def late_step(model, batches, lr=0.1, top=False):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in batches:
        if top:
            optimizer.step()
            optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        if not top:
            optimizer.step()
            optimizer.zero_grad()
        loss.backward()
    return weights(model)


def right_order(model, batches, lr=0.1):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for x, y in batches:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    return weights(model)


def batches_of(count):
    torch.manual_seed(1)
    return [(torch.randn(8, 6), torch.randn(8, 1)) for _ in range(count)]


def test_a_step_between_forward_and_backward_raises_from_the_second_iteration_on():
    model, _, _ = regression(layers=2)
    late_step(model, batches_of(1))
    model, _, _ = regression(layers=2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        late_step(model, batches_of(2))


def test_a_single_layer_runs_on_with_late_gradients():
    late = late_step(regression()[0], batches_of(4))
    assert not same(late, right_order(regression()[0], batches_of(4)))
    assert not same(late, right_order(regression()[0], batches_of(4)[:3]))


def test_a_step_at_the_top_loses_the_last_batch_only():
    late = late_step(regression(layers=2)[0], batches_of(4), top=True)
    assert same(late, right_order(regression(layers=2)[0], batches_of(4)[:3]))


# 131


def test_what_a_used_up_generator_does():
    model, x, y = regression()
    parameters = model.parameters()
    torch.optim.SGD(parameters, lr=0.1)
    with pytest.raises(ValueError, match="empty parameter list"):
        torch.optim.SGD(parameters, lr=0.1)
    F.mse_loss(model(x), y).backward()
    before = model.weight.grad.clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older versions do not warn
        assert nn.utils.clip_grad_norm_(parameters, 1e-6) == 0.0
    assert torch.equal(model.weight.grad, before)
    assert sum(p.numel() for p in parameters) == 0


def test_parameters_is_a_generator_and_a_parameter_list_is_not():
    model, _, _ = regression()
    assert iter(model.parameters()) is not model.parameters()
    generator = model.named_parameters()
    assert iter(generator) is generator
    kept = nn.ParameterList(model.parameters())
    assert len(list(kept)) == len(list(kept)) == 2


# 132


def test_a_method_that_is_not_called_does_nothing():
    model = nn.Dropout()
    model.eval  # noqa: B018
    assert model.training


def test_with_no_grad_without_parentheses_raises():
    with pytest.raises((TypeError, AttributeError)):
        with torch.no_grad:
            pass


def test_decorators_work_without_parentheses():
    @torch.no_grad
    def quiet():
        return torch.is_grad_enabled()

    @torch.inference_mode
    def inference():
        return torch.is_inference_mode_enabled()

    assert quiet() is False and inference() is True


# 134


def test_a_context_manager_that_is_not_entered_does_nothing():
    torch.no_grad()
    assert torch.is_grad_enabled()
    torch.inference_mode()
    assert not torch.is_inference_mode_enabled()
    torch.autocast("cpu", dtype=torch.bfloat16)
    assert not torch.is_autocast_enabled("cpu")


def test_set_grad_enabled_works_at_once():
    try:
        torch.set_grad_enabled(False)
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
