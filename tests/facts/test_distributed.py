"""What rules/distributed says of PyTorch, run on PyTorch (a DistributedSampler needs no process group)."""

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
data = pytest.importorskip("torch.utils.data")

DATASET = range(16)


def sampler(rank=0, **options):
    return data.DistributedSampler(DATASET, num_replicas=2, rank=rank, **options)


# 801


def test_without_set_epoch_each_epoch_has_the_same_order():
    loader = data.DataLoader(DATASET, batch_size=2, sampler=sampler())
    first, second = ([batch.tolist() for batch in loader] for _ in range(2))
    assert first == second
    assert sum(first, []) != sorted(sum(first, []))


def test_the_order_does_not_depend_on_the_global_generator():
    orders = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        orders.append(list(sampler()))
    assert orders[0] == orders[1]


def test_set_epoch_changes_the_order():
    one = sampler()
    before = list(one)
    one.set_epoch(1)
    assert list(one) != before and one.epoch == 1


def test_seed_and_epoch_are_added():
    one, other = sampler(seed=3), sampler(seed=0)
    other.set_epoch(3)
    assert list(one) == list(other)


def test_ranks_in_different_epochs_share_and_miss_samples():
    ranks = [sampler(rank) for rank in (0, 1)]
    assert sorted(sum(map(list, ranks), [])) == list(DATASET)
    ranks[1].set_epoch(1)
    assert sorted(sum(map(list, ranks), [])) != list(DATASET)


def test_without_shuffling_the_epoch_means_nothing():
    one = sampler(shuffle=False)
    before = list(one)
    one.set_epoch(5)
    assert list(one) == before


# 803, 807, 808, 815: what a group of one process shows


@pytest.fixture
def group(tmp_path):
    dist = pytest.importorskip("torch.distributed")
    if not dist.is_available() or not dist.is_gloo_available():
        pytest.skip("needs gloo")
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield dist
    dist.destroy_process_group()


def test_device_ids_want_a_model_on_the_device(group):
    with pytest.raises(ValueError, match="only work with single-device/multiple-device GPU modules or CPU modules"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), device_ids=[0])


def test_keys_of_a_wrapped_model_begin_with_module(group):
    wrapped = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]


def test_hooks_of_the_wrapper_wait_for_its_own_forward(group):
    wrapped = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    calls = []

    def count(state, bucket):
        calls.append(bucket.index())
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    wrapped.register_comm_hook(None, count)
    wrapped.module(torch.ones(1, 2)).sum().backward()
    assert not calls
    wrapped(torch.ones(1, 2)).sum().backward()
    assert calls


def test_sharding_replaces_the_parameters(group):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Linear(2, 1)
    before = model.weight
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    assert model.weight is not before
    model(torch.ones(1, 2)).sum().backward()
    assert before.grad is None and model.weight.grad is not None


# 824


def test_a_norm_of_a_sharded_gradient_is_partial_and_that_of_clipping_is_not(group):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Linear(2, 1)
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
    model(torch.ones(1, 2)).sum().backward()
    grad = model.weight.grad
    for made in (grad.norm(), grad.detach().norm(2), grad.abs().max(), grad.pow(2).sum(), torch.linalg.vector_norm(grad)):
        assert made.placements[0].is_partial()
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13):
        assert torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).placements[0].is_replicate()


# 811


def test_what_the_launchers_pass():
    from torch.distributed import launch, run

    def command(launcher):
        return run.config_from_args(launcher.parse_args(["train.py"]))[2]

    assert command(launch)[-1].startswith("--local-rank=")
    assert command(run)[-1] == "train.py"


def test_argparse_does_not_take_the_new_spelling_for_the_old_one():
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    known, unknown = parser.parse_known_args(["--local-rank=1"])
    assert known.local_rank == 0 and unknown == ["--local-rank=1"]
