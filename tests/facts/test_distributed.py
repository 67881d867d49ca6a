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
