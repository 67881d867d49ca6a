"""What the pages of rules/modes say that PyTorch does, tried on PyTorch."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch", reason="facts about PyTorch need PyTorch")
nn = torch.nn
F = torch.nn.functional


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))


# 201


def test_a_module_starts_in_training_mode():
    assert all(module.training for module in net().modules())


def test_no_grad_does_not_stop_dropout():
    dropout = nn.Dropout(0.5)
    with torch.no_grad():
        assert (dropout(torch.ones(1000)) == 0).any()
    dropout.eval()
    assert torch.equal(dropout(torch.ones(1000)), torch.ones(1000))


def test_no_grad_does_not_stop_batch_norm_from_learning_statistics():
    norm = nn.BatchNorm1d(3)
    with torch.no_grad():
        norm(torch.randn(8, 3) + 5)
        moved = norm.running_mean.clone()
        assert (moved > 0.3).all()
        norm.eval()
        norm(torch.randn(8, 3) + 50)
    assert torch.equal(norm.running_mean, moved)


def test_in_training_mode_the_answer_depends_on_the_batch():
    norm, data = nn.BatchNorm1d(3), torch.randn(8, 3)
    assert not torch.allclose(norm(data)[:4], norm(data[:4]))
    norm.eval()
    assert torch.allclose(norm(data)[:4], norm(data[:4]))


def test_a_model_without_such_layers_does_not_care():
    model = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 2))
    data = torch.randn(4, 6)
    trained = model(data)
    assert torch.equal(trained, model.eval()(data))


def test_update_bn_runs_in_training_mode_without_gradients():
    model = nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3)).eval()
    seen = []
    model.register_forward_hook(lambda *_: seen.append((model.training, torch.is_grad_enabled())))
    torch.optim.swa_utils.update_bn([torch.randn(8, 6)], model)
    assert seen == [(True, False)] and not model.training


def test_dropout_can_be_switched_on_alone():
    model = net().eval()
    model[3].train()
    data = torch.randn(4, 6)
    assert not torch.equal(model(data), model(data))


# 202


def test_eval_does_not_stop_autograd():
    output = net().eval()(torch.randn(4, 6))
    assert output.grad_fn is not None
    output.sum().backward()


def saved_tensors(model):
    count = 0

    def pack(tensor):
        nonlocal count
        count += 1
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(torch.randn(4, 6))
    return count, output


def test_values_for_backward_are_kept_in_eval_mode_and_not_under_no_grad():
    model = net().eval()
    assert saved_tensors(model)[0] > 0
    with torch.no_grad():
        assert saved_tensors(model)[0] == 0


def test_a_frozen_model_records_nothing():
    model = net().eval().requires_grad_(False)
    count, output = saved_tensors(model)
    assert count == 0 and output.grad_fn is None


def test_the_numbers_are_the_same():
    model, data = net().eval(), torch.randn(4, 6)
    recorded = model(data)
    with torch.no_grad():
        assert torch.equal(recorded, model(data))


# 203


def test_eval_stays_and_reaches_all_children_and_train_takes_a_mode():
    model = net()

    def evaluate():
        model.eval()

    evaluate()
    assert not any(module.training for module in model.modules())
    assert all(module.training for module in model.train(True).modules())
    assert not any(module.training for module in model.train(False).modules())


def test_training_goes_on_in_eval_mode_with_frozen_statistics_and_no_dropout():
    model = net().eval()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before, mean = model[0].weight.detach().clone(), model[1].running_mean.clone()
    data = torch.randn(8, 6)
    assert torch.equal(model(data), model(data))
    F.cross_entropy(model(data), torch.zeros(8, dtype=torch.long)).backward()
    optimizer.step()
    assert not torch.equal(before, model[0].weight)
    assert torch.equal(mean, model[1].running_mean)


# 204


@pytest.mark.parametrize("name, rank", [("dropout", 2), ("dropout1d", 3), ("dropout2d", 4), ("dropout3d", 5)])
def test_functional_dropout_is_on_by_default_and_training_is_its_third_argument(name, rank):
    function = getattr(F, name)
    arguments = list(inspect.signature(function).parameters.values())
    assert arguments[2].name == "training" and arguments[2].default is True
    data = torch.ones(4, 16, *[2] * (rank - 2))
    assert (function(data, 0.5) == 0).any()
    assert torch.equal(function(data, 0.5, False), data)


def test_eval_does_not_reach_functional_dropout():
    class Net(nn.Module):
        def forward(self, x):
            return F.dropout(x, 0.5)

    assert (Net().eval()(torch.ones(1000)) == 0).any()


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_is_off_by_default(name):
    data = torch.ones(4, 16)
    assert torch.equal(getattr(F, name)(data, 0.5), data)


def test_attention_drops_whenever_dropout_p_is_given():
    query = torch.randn(1, 1, 8, 8)
    with torch.no_grad():
        first = F.scaled_dot_product_attention(query, query, query, dropout_p=0.5)
        second = F.scaled_dot_product_attention(query, query, query, dropout_p=0.5)
    assert not torch.equal(first, second)
