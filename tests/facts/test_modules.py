"""What rules/modules says of PyTorch, run on PyTorch."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
nn = pytest.importorskip("torch.nn")
F = pytest.importorskip("torch.nn.functional")


def with_attributes(**attributes):
    module = nn.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


# 501


@pytest.mark.parametrize("container", [
    lambda: [nn.Linear(2, 2), nn.Dropout()],
    lambda: (nn.Linear(2, 2), nn.Dropout()),
    lambda: {0: nn.Linear(2, 2), 1: nn.Dropout()},
], ids=["list", "tuple", "dict"])
def test_modules_in_a_plain_container_are_not_part_of_the_model(container):
    model = with_attributes(parts=container())
    assert not list(model.parameters()) and not model.state_dict() and not list(model.children())
    model.to("meta").eval()
    assert model.parts[0].weight.device.type == "cpu" and model.parts[1].training
    with pytest.raises(ValueError, match="empty parameter list"):
        torch.optim.SGD(model.parameters(), lr=0.1)


def test_parameters_in_a_plain_container_are_not_part_of_the_model():
    model = with_attributes(gains=[nn.Parameter(torch.ones(1))], biases={"a": nn.Parameter(torch.ones(1))})
    assert not list(model.parameters()) and not model.state_dict()


def test_with_other_layers_the_optimizer_trains_only_those():
    model = with_attributes(hidden=[nn.Linear(2, 2)], head=nn.Linear(2, 1))
    before = copy.deepcopy([model.hidden[0].weight, model.head.weight])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head(model.hidden[0](torch.ones(1, 2))).sum().backward()
    optimizer.step()
    assert torch.equal(model.hidden[0].weight, before[0]) and not torch.equal(model.head.weight, before[1])


@pytest.mark.parametrize("container", [
    lambda: nn.ModuleList([nn.Linear(2, 2)]),
    lambda: nn.ModuleDict({"a": nn.Linear(2, 2)}),
    lambda: nn.ParameterList([nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))]),
    lambda: nn.ParameterDict({"a": nn.Parameter(torch.ones(1)), "b": nn.Parameter(torch.ones(1))}),
    lambda: nn.Sequential(*[nn.Linear(2, 2)]),
])
def test_containers_of_torch_are_part_of_the_model(container):
    assert len(list(with_attributes(parts=container()).parameters())) == 2


def test_members_registered_by_other_means_are_part_of_the_model():
    model = nn.Module()
    model.parts = [nn.Linear(2, 2), nn.Linear(2, 2)]
    model.add_module("first", model.parts[0])
    model.second = model.parts[1]
    model.gains = [nn.Parameter(torch.ones(1))]
    model.register_parameter("gain", model.gains[0])
    assert len(list(model.parameters())) == 5


def test_a_module_hidden_in_a_tuple_is_neither_saved_nor_trained():
    model = with_attributes(student=nn.Linear(2, 2), teacher=(nn.Linear(2, 2),))
    assert set(model.state_dict()) == {"student.weight", "student.bias"}


# 502


def test_a_plain_tensor_is_neither_moved_nor_cast_nor_saved():
    model = with_attributes(plain=torch.ones(3), weight=nn.Parameter(torch.ones(3)))
    model.register_buffer("kept", torch.ones(3))
    model.register_buffer("derived", torch.ones(3), persistent=False)
    assert set(model.state_dict()) == {"weight", "kept"}
    assert [name for name, _ in model.named_parameters()] == ["weight"]
    model.half()
    assert model.plain.dtype is torch.float32 and model.kept.dtype is model.derived.dtype is torch.float16
    model.to("meta")
    assert model.plain.device.type == "cpu" and model.kept.device.type == model.derived.device.type == "meta"
    with pytest.raises(RuntimeError, match="device"):
        model.weight + model.plain


def test_a_plain_tensor_without_dimensions_works_after_a_move():
    model = with_attributes(scale=torch.tensor(0.5), weight=nn.Parameter(torch.ones(3))).to("meta")
    assert (model.weight * model.scale).device.type == "meta"


def test_half_with_a_plain_float32_tensor_computes_in_float32():
    model = with_attributes(plain=torch.ones(3), weight=nn.Parameter(torch.ones(3))).half()
    assert (model.weight + model.plain).dtype is torch.float32


# 503


def built(assign):
    return type("Broken", (nn.Module,), {"__init__": assign})()


@pytest.mark.parametrize(("assign", "what"), [
    (lambda self: setattr(self, "fc", nn.Linear(1, 1)), "module"),
    (lambda self: setattr(self, "weight", nn.Parameter(torch.ones(1))), "parameters"),
    (lambda self: self.register_buffer("mean", torch.ones(1)), "buffer"),
])
def test_nothing_can_be_registered_before_module_init(assign, what):
    with pytest.raises(AttributeError, match=rf"cannot assign {what} before Module.__init__\(\) call"):
        built(assign)


@pytest.mark.parametrize(("use", "missing"), [
    (lambda module: module(1), "_backward_hooks"),
    (lambda module: module.eval(), "_modules"),
    (lambda module: module.to("cpu"), "_modules"),
    (lambda module: list(module.parameters()), "_parameters"),
])
def test_a_module_without_init_fails_when_it_is_used(use, missing):
    module = built(lambda self: setattr(self, "classes", 3))
    with pytest.raises(AttributeError, match=f"has no attribute '{missing}'"):
        use(module)


def test_plain_values_may_be_set_before_module_init():
    def init(self):
        self.size, self.mask, self.extra = 3, torch.ones(3), [nn.Linear(1, 1)]
        nn.Module.__init__(self)
        self.fc = nn.Linear(3, 1)

    assert len(list(built(init).parameters())) == 2


# 505


class Rebuilt(nn.Module):
    def forward(self, x):
        self.fc = nn.Linear(4, 2)
        return self.fc(x)


class Thrown(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return nn.Linear(4, 2)(self.fc(x))


def test_a_layer_built_in_forward_is_another_one_each_time():
    model, x = Thrown(), torch.randn(1, 4)
    assert not torch.equal(model(x), model(x))
    assert len(list(model.parameters())) == 2 and set(model.state_dict()) == {"fc.weight", "fc.bias"}


def test_a_layer_built_in_forward_is_on_the_default_device():
    with pytest.raises(RuntimeError, match="device"):
        Thrown().to("meta")(torch.zeros(1, 4, device="meta"))


def test_assigning_it_to_self_registers_and_replaces_it():
    model = Rebuilt()
    assert not list(model.parameters())
    model(torch.randn(1, 4))
    first = model.fc
    model(torch.randn(1, 4))
    assert len(list(model.parameters())) == 2 and model.fc is not first


def test_a_fresh_dropout_drops_after_eval():
    class Model(nn.Module):
        def forward(self, x):
            return nn.Dropout(0.5)(x)

    assert (Model().eval()(torch.ones(1000)) == 0).any()
    assert not (F.dropout(torch.ones(1000), 0.5, training=False) == 0).any()


def test_a_lazy_layer_is_built_once():
    layer = nn.LazyLinear(3)
    layer(torch.randn(2, 7))
    weight = layer.weight
    layer(torch.randn(2, 7))
    assert layer.weight is weight and weight.shape == (3, 7)


# 504


def test_forward_by_its_name_runs_no_hook():
    layer, seen = nn.Linear(2, 2), []
    layer.register_forward_hook(lambda *_: seen.append(1))
    layer.forward(torch.ones(1, 2))
    assert not seen
    layer(torch.ones(1, 2))
    assert seen


# 507


def test_a_list_times_n_holds_one_layer():
    assert len(list(nn.Sequential(*[nn.Linear(2, 2)] * 3).parameters())) == 2


# 512


def test_hooks_add_up():
    layer, seen = nn.Linear(2, 2), []
    for _ in range(3):
        layer.register_forward_hook(lambda *_: seen.append(1))
    layer(torch.ones(1, 2))
    assert len(seen) == 3


# 518


def test_batch_norm_does_not_train_on_one_row_and_evaluates_another_function():
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.BatchNorm1d(3)(torch.ones(1, 3))
    norm, image = nn.BatchNorm2d(3), torch.rand(1, 3, 4, 4)
    trained = norm(image)
    assert not torch.allclose(trained, norm.eval()(image))


# 519


def test_reentrant_checkpointing_loses_gradients_where_no_input_requires_any():
    from torch.utils.checkpoint import checkpoint

    layer = nn.Linear(2, 2)
    with pytest.warns(UserWarning, match="None of the inputs"):
        loss = checkpoint(layer, torch.ones(1, 2), use_reentrant=True).sum()
    assert not loss.requires_grad
    checkpoint(layer, torch.ones(1, 2), use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None


def test_checkpoint_warns_where_use_reentrant_is_not_said():
    from torch.utils.checkpoint import checkpoint

    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(nn.Linear(2, 2), torch.ones(1, 2, requires_grad=True))


# 520


@pytest.mark.parametrize("call", [
    lambda x: nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x, is_causal=True),
    lambda x: nn.TransformerEncoderLayer(4, 2, batch_first=True)(x, is_causal=True),
    lambda x: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True), 1)(x, is_causal=True),
    lambda x: nn.TransformerDecoderLayer(4, 2, batch_first=True)(x, x, tgt_is_causal=True),
], ids=["attention", "encoder layer", "encoder", "decoder layer"])
def test_is_causal_needs_its_mask(call):
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        call(torch.rand(2, 3, 4))


def test_the_fast_path_ignores_is_causal():
    layer, x = nn.TransformerEncoderLayer(4, 2, batch_first=True).eval(), torch.rand(1, 3, 4)
    with torch.no_grad():
        assert torch.allclose(layer(x, is_causal=True), layer(x), atol=1e-6)


# 521


@pytest.mark.parametrize("name", ["train", "children", "apply"])
def test_a_name_that_modules_call_on_each_other_breaks_those_around(name):
    outer = nn.Sequential(with_attributes(**{name: [1]}))
    with pytest.raises(TypeError, match="not callable"):
        outer.apply(lambda module: None) if name == "apply" else outer.eval()


def test_layers_under_the_name_of_a_method_cannot_be_reached():
    model = with_attributes(modules=nn.ModuleList([nn.Linear(1, 1)]))
    assert not isinstance(model.modules, nn.ModuleList) and len(list(model.parameters())) == 2


# 522, 523


@pytest.mark.parametrize("name", ["requires_grad", "require_grad", "requires_grad_"])
def test_attributes_of_modules_freeze_nothing(name):
    layer = nn.Linear(2, 2)
    setattr(layer, name, False)
    assert all(parameter.requires_grad for parameter in layer.parameters())


def test_a_misspelt_flag_of_a_parameter_freezes_nothing():
    parameter = nn.Parameter(torch.ones(1))
    parameter.require_grad = False
    assert parameter.requires_grad
