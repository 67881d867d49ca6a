"""What rules/data says of PyTorch, run on PyTorch."""

import random

import pytest

torch = pytest.importorskip("torch", reason="the facts are checked on torch itself")
data = pytest.importorskip("torch.utils.data")

TEN = list(range(10))


class Numbers(data.Dataset):
    def __init__(self, count=8):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return index


class WithGenerator(Numbers):
    """A dataset that holds a generator of its own, and draws from the global ones too."""

    def __init__(self, count=8):
        import numpy

        super().__init__(count)
        self.rng = numpy.random.default_rng(0)

    def __getitem__(self, index):
        import numpy

        return self.rng.random(), numpy.random.rand(), torch.rand(()).item()


class Draws(Numbers):
    """A dataset that draws from the global generators."""

    def __getitem__(self, index):
        import numpy

        return numpy.random.rand(), random.random(), torch.rand(()).item()


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(TEN)


# 603, 609


def test_a_loader_does_not_shuffle_unless_told_to():
    assert [batch.tolist() for batch in data.DataLoader(TEN, batch_size=5)] == [TEN[:5], TEN[5:]]


def test_each_iterator_begins_with_the_first_batch():
    loader = data.DataLoader(TEN, batch_size=2)
    assert [next(iter(loader)).tolist() for _ in range(3)] == [[0, 1]] * 3


# 606


def test_a_generator_in_a_dataset_is_the_same_in_every_worker_and_epoch():
    pytest.importorskip("numpy")
    loader = data.DataLoader(WithGenerator(), batch_size=4, num_workers=2)
    epochs = [[[column.tolist() for column in batch] for batch in loader] for _ in range(2)]
    (first, second), (again, _) = epochs
    assert first[0] == second[0] == again[0]
    # NumPy's global generator is seeded for each worker and epoch, as torch's own is.
    assert first[1] != second[1] and first[1] != again[1]
    assert first[2] != second[2] and first[2] != again[2]


def _numbers(start, **options):
    """What two epochs of a loader draw from NumPy, Python and torch, one after the other."""
    pytest.importorskip("numpy")
    loader = data.DataLoader(Draws(), batch_size=2, num_workers=2, worker_init_fn=start, **options)
    epochs = [[[column.tolist() for column in batch] for batch in loader] for _ in range(2)]
    return [[[batch[place] for batch in epoch] for epoch in epochs] for place in range(3)]


def _by_number(worker):
    import numpy

    numpy.random.seed(42 + worker)


def _by_state(worker):
    """Each worker has seeded NumPy with an array: the first word of the state says nothing of it."""
    import numpy

    numpy.random.seed(numpy.random.get_state()[1][0] + worker)


def _by_initial_seed(worker):
    import numpy

    numpy.random.seed(torch.initial_seed() % 2**32)


def _pythons(worker):
    random.seed(42 + worker)


def _torchs(worker):
    torch.manual_seed(42 + worker)


@pytest.mark.parametrize(("start", "alike"), [
    (_by_number, [True, False, False]),
    (_by_state, [True, False, False]),
    (_pythons, [False, True, False]),
    (_torchs, [False, False, True]),
    (_by_initial_seed, [False, False, False]),
    (None, [False, False, False]),
])
def test_workers_that_are_seeded_by_their_number_draw_the_same_in_each_epoch(start, alike):
    assert [first == second for first, second in _numbers(start)] == alike


def test_workers_that_last_are_seeded_once():
    assert all(first != second for first, second in _numbers(_by_number, persistent_workers=True))


# 608


@pytest.mark.parametrize("options", [
    {"sampler": data.RandomSampler(TEN), "shuffle": True},
    {"batch_sampler": [TEN], "shuffle": True},
    {"batch_sampler": [TEN], "sampler": data.RandomSampler(TEN)},
    {"batch_sampler": [TEN], "drop_last": True},
    {"batch_sampler": [TEN], "batch_size": 4},
], ids=" ".join)
def test_options_that_decide_the_order_shut_each_other_out(options):
    with pytest.raises(ValueError, match="mutually exclusive"):
        data.DataLoader(TEN, **options)


@pytest.mark.parametrize(
    "options", [{"shuffle": True}, {"sampler": data.SequentialSampler(TEN)}, {"batch_sampler": [TEN]}], ids=" ".join
)
def test_a_stream_takes_no_order(options):
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Stream(), **options)


# 610


def test_every_worker_reads_all_of_a_stream():
    assert sorted(int(item) for item in data.DataLoader(Stream(), batch_size=None, num_workers=2)) == sorted(TEN * 2)


# 612


@pytest.mark.parametrize(
    "option", [{"persistent_workers": True}, {"prefetch_factor": 2}, {"multiprocessing_context": "fork"}], ids=" ".join
)
def test_options_for_workers_need_workers(option):
    with pytest.raises(ValueError, match="num_workers|multiprocess"):
        data.DataLoader(TEN, **option)
    data.DataLoader(TEN, num_workers=0, persistent_workers=False, prefetch_factor=None)


# 617


def test_a_dataset_needs_items_and_a_length():
    class NoLength(data.Dataset):
        def __getitem__(self, index):
            return index

    class NoItems(data.Dataset):
        def __len__(self):
            return 4

    with pytest.raises(TypeError, match="has no len"):
        list(data.DataLoader(NoLength()))
    with pytest.raises(NotImplementedError, match="__getitem__"):
        list(data.DataLoader(NoItems()))
    assert [int(item) for item in data.DataLoader(NoLength(), sampler=[3, 1])] == [3, 1]
