"""Data sets, samplers, loaders and their workers."""

from __future__ import annotations

from typing import Any

from torchsan.errors.family import Family, Said, Seen
from torchsan.errors.operands import Frame
from torchsan.own import re
from torchsan.program.where import _OURS, _USER

_LOADER = r"utils/data/"


def _kind(seen: Seen) -> Said | None:
    """A sample of a kind that cannot be put into a batch."""
    found = re.search(r"found (?:<class ')?(?P<type>[^'>]+)", seen.text)
    if found is None:
        return None
    name = found["type"]
    if name == "NoneType":
        return Said(
            (f"a sample holds {name}",),
            None,
            "a path of `__getitem__` that returns nothing; leave such samples out in a `collate_fn`",
        )
    if name.startswith("PIL."):
        return Said(
            (f"a sample holds {name}",), None, "turn images into tensors: `transforms.ToTensor()` in the dataset"
        )
    return Said((f"a sample holds {name}",))


def _sizes(seen: Seen) -> Said | None:
    lengths = seen.given("lengths")
    dataset: Any = seen.given("dataset")
    facts = []
    if isinstance(lengths, (list, tuple)) and dataset is not None:
        facts.append(f"{' + '.join(map(str, lengths))} is {sum(lengths):g}, the data set has {len(dataset)} samples")
    return Said(tuple(facts))


def _tensors(seen: Seen) -> Said | None:
    rows = [f"`{one.name}` has {one.value.shape[0] if one.value.dim() else 'no'} rows" for one in seen.tensors()]
    return Said((", ".join(rows),)) if len(rows) > 1 else None


def _lengths(seen: Seen) -> Said | None:
    owner: Any = seen.given("self")
    source = getattr(owner, "data_source", None)
    return (
        Said((f"the data set is empty, a {type(source).__name__}",)) if source is not None and not len(source) else None
    )


FAMILIES = (
    Family("", r"each element in list of batch should be of equal size", number=615),
    Family("worker-batch-sizes", r"Trying to resize storage that is not resizable", "a worker puts samples of different sizes "
           "into one batch", "bring the samples to one shape in the dataset, or pad them in a `collate_fn`; `num_workers=0` "
           "names the sizes", inside=r"(_utils/collate|_utils\.py|dataloader)"),
    Family("", r"sampler option is mutually exclusive with (shuffle|batch_size)", number=608),
    Family("", r"DataLoader with IterableDataset: expected unspecified \w+ option", number=608),
    Family("", r"batch_size=None option disables auto-batching and is mutually exclusive", number=608),
    Family("", r"prefetch_factor option could only be specified in multiprocessing", number=612),
    Family("", r"persistent_workers option needs num_workers > 0", number=612),
    Family("", r"multiprocessing_context can only be used with multi-process loading", number=612),
    Family("sample-of-unknown-type", r"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or "
           r"lists; found", "the samples of a dataset hold something that cannot be put into a batch",
           "give tensors, arrays, numbers or strings, or pass a `collate_fn` for what is not to be batched", look=_kind),
    Family("worker-died", r"DataLoader worker \(pid\(?s?\)? (?P<pids>[\d, ]+)\)? (exited unexpectedly|is killed by "
           r"signal: (?P<signal>.*?))\.?( |$)", "a worker process of a DataLoader died", "mostly for want of memory: "
           "fewer workers, smaller batches, no large lists in the dataset; `num_workers=0` shows an error of its own",
           look=lambda seen: _died(seen)),
    Family("shared-memory", r"(insufficient shared memory \(shm\)|unable to (open|allocate) shared memory|unable to "
           r"mmap \d+ bytes|Bus error|received 0 items of ancdata|Too many open files)", "the memory that workers and "
           "training share is used up", "a larger /dev/shm (`docker run --shm-size=8g` or `--ipc=host`), fewer "
           "workers, or `torch.multiprocessing.set_sharing_strategy(\"file_system\")`"),
    Family("loader-timeout", r"DataLoader timed out after (?P<n>\d+) seconds", "no worker gave a batch in time",
           "a slow sample or a lock that a fork copied: try `num_workers=0`; else a larger `timeout`",
           fact="{n} seconds were waited"),
    Family("no-samples", r"num_samples should be a positive integer value, but got num_samples=(?P<n>-?\d+)",
           "the data set is empty", "look at the path or filter that it is made from: `len(dataset)` is 0",
           look=_lengths),
    Family("batch-size", r"batch_size should be a positive integer value, but got batch_size=(?P<n>\S+)",
           "the batch size is no whole number above 0", "`//` where it is computed, and 1 at least: `max(1, total // "
           "ranks)`", fact="it is {n}"),
    Family("worker-count", r"num_workers option should be non-negative", "the number of workers is negative",
           "0 loads in the training process"),
    Family("loader-wait", r"timeout option should be non-negative", "the timeout of a DataLoader is negative",
           "0 waits for ever"),
    Family("loader-no-index", r"'DataLoader' object is not subscriptable", "a DataLoader has no samples by number",
           "`next(iter(loader))` for a batch, `dataset[i]` for a sample"),
    Family("loader-no-iterator", r"'DataLoader' object is not an iterator", "a DataLoader is iterated, not stepped",
           "`next(iter(loader))`; make the iterator once for several batches"),
    Family("tensors-of-other-length", r"Size mismatch between tensors", "the tensors of a TensorDataset have "
           "different numbers of rows", "one row a sample in each", look=_tensors),
    Family("split-lengths", r"Sum of input lengths does not equal the length of the input dataset",
           "the parts to split into do not add up to the data set", "`[0.8, 0.2]`, or `[n, len(dataset) - n]`",
           look=_sizes),
    Family("dataset-without-item", r"Subclasses of Dataset should implement __getitem__", "the data set has no "
           "`__getitem__`", "`def __getitem__(self, index):` in it, on the level of `__init__`"),
    Family("dataset-without-length", r"object of type '(?P<cls>\w+)' has no len\(\)", "the data set has no length",
           "`def __len__(self):`; of a stream, an IterableDataset without `shuffle`, nobody knows it",
           fact="`{cls}` has no `__len__`", inside=_LOADER),
    Family("dataset-length", r"(list index out of range|index \d+ is out of bounds for axis 0 with size \d+|single "
           r"positional indexer is out-of-bounds)", "a sample is asked for that the data set does not have",
           "`__len__` promises more than `__getitem__` has: return the length of what it reads from",
           kinds=(IndexError,), fits=lambda way: _beyond(way)),
    Family("stream-without-iterator", r"iter\(\) returned non-iterator of type '(?P<type>\w+)'",
           "`__iter__` of a data set gives no iterator", "`return iter(...)`, or write it with `yield`",
           fact="it gives a {type}", inside=_LOADER),
    Family("collate-keys", r"^'?\"?(?P<key>'\w+')\"?'?$", "the samples of a batch have different keys",
           "give every sample the same keys", fact="not all have {key}", inside=r"_utils/collate\.py:",
           kinds=(KeyError,)),
    Family("graph-over-processes", r"Cowardly refusing to serialize non-leaf tensor which requires_grad",
           "a worker gives a tensor with a graph", "`.detach()` it in the dataset, or compute it under "
           "`torch.no_grad()`"),
    Family("sampler-rank", r"Invalid rank (?P<rank>\d+), rank should be in the interval \[0, (?P<last>\d+)\]",
           "a sampler is given the number of a process that is not there", "ranks count from 0 to the number of "
           "processes less one", fact="rank {rank}, and the last is {last}"),
    Family("sampling-weights", r"invalid multinomial distribution \((?P<why>.*?)\)", "weights to draw by are no "
           "probabilities", "none below 0, and one above: clamp or drop the others", fact="{why}"),
    Family("numpy-strings", r"can't convert np\.ndarray of type (?P<type>[\w.]+?)\.? The", "NumPy's array holds no "
           "numbers that torch knows", "`array.astype(np.float32)`; an array of objects mixes types or lengths, and "
           "text has to be numbered first", fact="its type is {type}"),
    Family("numpy-strides", r"At least one stride in the given numpy array is negative|stride.* negative",
           "NumPy's array runs backwards", "`array.copy()`, after a flip or `[::-1]`"),
    Family("numpy-keywords", r"from_numpy\(\) takes no keyword arguments", "`from_numpy` takes the array alone",
           "`torch.from_numpy(array).to(dtype=..., device=...)`, or `torch.as_tensor(array, dtype=...)`"),
    Family("numpy-expected", r"expected np\.ndarray \(got (?P<type>[\w.]+)\)", "`from_numpy` takes an array",
           "`torch.tensor(values)` for a list", fact="it is a {type}"),
)


def _beyond(way: list[Frame]) -> bool:
    """Whether a `__getitem__` of the user's failed by an index that is beyond what its data set reads from."""
    one = way[-1] if way else None
    if (
        one is None
        or one.kind != _USER
        or one.frame.f_code.co_name != "__getitem__"
        or not any(at.kind == _OURS for at in way)
    ):
        return False
    names = one.frame.f_code.co_varnames
    index = one.frame.f_locals.get(names[1]) if len(names) > 1 else None
    held = vars(one.frame.f_locals.get("self")).values() if hasattr(one.frame.f_locals.get("self"), "__dict__") else ()
    return isinstance(index, int) and any(
        isinstance(value, (list, tuple)) and 0 < len(value) <= index for value in held
    )


def _died(seen: Seen) -> Said | None:
    signal = seen.match["signal"]
    where = f"worker {seen.match['pids'].strip()}"
    if signal and "Bus" in signal:
        return Said(
            (f"{where}: {signal}",),
            None,
            "shared memory is used up: a larger /dev/shm (`docker run --shm-size=8g`), or fewer workers",
        )
    if signal and "Segmentation" in signal:
        return Said(
            (f"{where}: {signal}",),
            None,
            'a library in the dataset does not bear a fork: open files in the worker, `cv2.setNumThreads(0)`, or the "spawn" context',
        )
    return Said((where + (f": {signal}" if signal else ""),))
