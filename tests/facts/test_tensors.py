"""What rules/tensors says of PyTorch, run on PyTorch. The device "meta" stands in for a second device on the CPU."""

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
nn = pytest.importorskip("torch.nn")
F = pytest.importorskip("torch.nn.functional")

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


# 401


def test_model_to_moves_nothing_but_the_model():
    model, batch = nn.Linear(3, 2), torch.randn(4, 3)
    model.to("meta")
    assert model.weight.device.type == "meta" and batch.device.type == "cpu"
    with pytest.raises(RuntimeError, match="device"):
        model(batch)


def test_a_tensor_without_dimensions_goes_with_any_device():
    elsewhere = torch.zeros(3, device="meta")
    assert (elsewhere * torch.tensor(0.5)).device.type == "meta"
    with pytest.raises(RuntimeError, match="device"):
        elsewhere * torch.tensor([0.5, 0.5, 0.5])


@pytest.mark.gpu
@needs_gpu
def test_cuda_and_cpu_do_not_mix():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.zeros(3).cuda() + torch.zeros(3)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        nn.Linear(3, 2).cuda()(torch.zeros(4, 3))
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        F.cross_entropy(torch.zeros(4, 3).cuda(), torch.zeros(4, dtype=torch.long).cuda(), weight=torch.ones(3))


@pytest.mark.gpu
@needs_gpu
def test_what_cuda_takes_from_the_cpu():
    assert (torch.zeros(3).cuda() * torch.tensor(0.5)).is_cuda
    assert torch.zeros(3, 2).cuda()[torch.randperm(3)].is_cuda
    with pytest.raises(RuntimeError, match="same device"):
        nn.Embedding(5, 2).cuda()(torch.arange(5))


@pytest.mark.gpu
@needs_gpu
def test_data_parallel_moves_its_inputs():
    assert nn.DataParallel(nn.Linear(3, 2)).cuda()(torch.zeros(4, 3)).is_cuda


@pytest.mark.gpu
@needs_gpu
def test_distributed_data_parallel_moves_its_inputs():
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2).cuda(), device_ids=[0])
        assert model(torch.zeros(4, 3)).is_cuda
    finally:
        dist.destroy_process_group()


# 402


def test_new_tensors_are_made_on_the_default_device():
    assert torch.zeros(2).device.type == torch.randn(2).device.type == torch.arange(2).device.type == "cpu"
    with torch.device("meta"):
        assert torch.zeros(2).device.type == "meta"
    torch.set_default_device("meta")
    try:
        assert torch.arange(2).device.type == "meta"
    finally:
        torch.set_default_device(None)


def test_ways_to_make_a_tensor_where_the_input_is():
    x = torch.zeros(2, 3, device="meta")
    made = [x.new_zeros(2), torch.randn_like(x), torch.arange(3, device=x.device), torch.zeros(2).to(x.device)]
    assert {tensor.device.type for tensor in made} == {"meta"}


def test_type_as_follows_the_device():
    assert torch.zeros(2).type_as(torch.zeros(2, dtype=torch.float64)).dtype is torch.float64


@pytest.mark.parametrize("mix", [
    lambda x: x + torch.randn(2, 3),
    lambda x: x.masked_fill(torch.ones(2, 3, dtype=torch.bool), 0),
    lambda x: nn.LSTM(3, 4, device="meta")(x, (torch.zeros(1, 4), torch.zeros(1, 4))),
])
def test_a_tensor_made_on_the_cpu_does_not_mix(mix):
    with pytest.raises(RuntimeError, match="device"):
        mix(torch.zeros(2, 3, device="meta"))


def test_a_cpu_index_may_select_elsewhere():
    assert torch.zeros(2, 3, device="meta")[:, torch.randperm(3)].shape == (2, 3)


@pytest.mark.gpu
@needs_gpu
def test_type_as_moves_to_the_device():
    assert torch.zeros(2).type_as(torch.zeros(2).cuda()).is_cuda


# 405


@pytest.mark.parametrize("call", [
    lambda x: x.to(torch.float64), lambda x: x.to("meta"), lambda x: x.float(), lambda x: x.half(),
    lambda x: x.detach(), lambda x: x.clone(), lambda x: x.view(-1), lambda x: x.reshape(6), lambda x: x.squeeze(),
    lambda x: x.unsqueeze(0), lambda x: x.transpose(0, 1), lambda x: x.permute(1, 0), lambda x: x.clamp(min=0),
    lambda x: x.relu(), lambda x: torch.clamp(x, 0),
])
def test_tensor_methods_leave_the_tensor_as_it_was(call):
    x = torch.tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], requires_grad=True)
    before = x.detach().clone()
    call(x)
    assert x.shape == (2, 3) and x.dtype is torch.float32 and x.device.type == "cpu" and x.requires_grad
    assert torch.equal(x, before)


def test_a_trailing_underscore_changes_the_tensor():
    x = torch.tensor([-1.0, 2.0])
    x.clamp_(min=0)
    assert x.tolist() == [0, 2]


def test_modules_are_changed_in_place():
    model = nn.Linear(2, 2)
    assert model.double() is model and model.weight.dtype is torch.float64
    assert model.to("meta") is model and model.weight.device.type == "meta"


# 406


def test_view_cannot_flatten_what_a_transpose_took_apart():
    x = torch.randn(2, 3, 4, 5)
    for moved in (x.transpose(1, 2), x.permute(0, 2, 3, 1), x[0, 0].t()):
        with pytest.raises(RuntimeError, match=r"view size is not compatible .* Use \.reshape"):
            moved.view(-1)
        assert moved.reshape(-1).shape == moved.contiguous().view(-1).shape == moved.flatten().shape
    with pytest.raises(RuntimeError, match="view size"):
        x.permute(0, 2, 3, 1).view(2, -1)


def test_view_does_not_need_a_contiguous_tensor():
    x = torch.randn(2, 12, 5)
    split = x.transpose(1, 2)
    assert not split.is_contiguous() and split.view(2, 5, 3, 4).shape == (2, 5, 3, 4)
    maps = torch.randn(2, 3, 4, 5).permute(0, 2, 3, 1)
    assert not maps.is_contiguous() and maps.view(2, 20, 3).shape == (2, 20, 3)
    assert torch.randn(3, 2).t().view(1, 2, 3, 1).shape == (1, 2, 3, 1)
    assert torch.randn(8, 1, 5).transpose(0, 1).view(-1).shape == (40,)
    assert x.transpose(1, 2).transpose(1, 2).view(-1).shape == (120,)
    assert torch.randn(3, 4).t().view(torch.int32).shape == (4, 3)


def test_transpose_and_view_share_memory():
    x = torch.randn(3, 4)
    assert x.t().data_ptr() == x.data_ptr() == x.view(-1).data_ptr() and x.t().stride() == (1, 4)


def test_reshape_copies_only_when_it_must():
    x = torch.randn(2, 12, 5)
    assert x.transpose(1, 2).reshape(2, 5, 3, 4).data_ptr() == x.data_ptr()
    assert x.transpose(1, 2).reshape(-1).data_ptr() != x.data_ptr()


def test_reshape_reads_in_the_permuted_order():
    assert torch.tensor([[1, 2, 3], [4, 5, 6]]).t().reshape(-1).tolist() == [1, 4, 2, 5, 3, 6]


def test_merging_heads_fails_unless_there_is_one_head_or_one_token():
    with pytest.raises(RuntimeError, match="view size"):
        torch.randn(2, 3, 5, 4).transpose(1, 2).view(2, 5, 12)
    assert torch.randn(2, 1, 5, 4).transpose(1, 2).view(2, 5, 4).shape == (2, 5, 4)
    assert torch.randn(2, 3, 1, 4).transpose(1, 2).view(2, 1, 12).shape == (2, 1, 12)


def test_views_of_slices_and_expanded_tensors_can_fail_too():
    for x in (torch.randn(4, 6)[:, :3], torch.randn(3, 1).expand(3, 4)):
        with pytest.raises(RuntimeError, match="view size"):
            x.view(-1)


def test_reading_a_saved_operand_runs_the_hooks_that_packed_it():
    """So the shape of a product's other operand cannot be looked up live: a checkpoint would run its forward again."""
    unpacked = []
    column, row = torch.rand(5, 1, requires_grad=True).sigmoid(), torch.rand(5)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: unpacked.append(t) or t):
        product = column * row
    assert product.grad_fn._saved_other.shape == (5,)
    assert len(unpacked) == 1


def test_some_gradients_are_others_under_a_dispatch_mode():
    """So a mode cannot look on at a training step: formulas that must do without writing in place round differently."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Looks(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    torch.manual_seed(0)
    values = torch.randn(4, 256, requires_grad=True)
    [bare] = torch.autograd.grad(values.prod(0).sum(), values)
    with Looks():
        [seen] = torch.autograd.grad(values.prod(0).sum(), values)
    assert torch.allclose(bare, seen, rtol=1e-4) and not torch.equal(bare, seen)
