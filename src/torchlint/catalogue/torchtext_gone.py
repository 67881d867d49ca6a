"""What torchtext has no more: the fields and iterators of its first releases, and the module that they were moved to."""

from __future__ import annotations

from torchlint.catalogue.apis import Gone

_DATA = "torchtext.data"
_LOADER = Gone("0.8", "0.9", "torch.utils.data.DataLoader")
_FIELD = Gone("0.8", "0.9", "torchtext.vocab.build_vocab_from_iterator")
_OTHER = Gone("0.8", "0.9", "torch.utils.data.Dataset")
_BY_FILE = {
    "field": (_FIELD, "RawField Field ReversibleField SubwordField NestedField LabelField"),
    "iterator": (_LOADER, "Iterator BucketIterator BPTTIterator batch pool"),
    "dataset": (_OTHER, "Dataset TabularDataset"),
    "example": (_OTHER, "Example"),
    "batch": (_LOADER, "Batch"),
    "pipeline": (_FIELD, "Pipeline"),
}
NAMES = {
    "torchtext.legacy": Gone("0.11", "0.12"),
    **{f"{_DATA}.{file}.{name}": gone for file, (gone, names) in _BY_FILE.items() for name in names.split()},
    **{f"{_DATA}.{name}": gone for gone, names in _BY_FILE.values() for name in names.split() if name != "batch"},
}

# The torch that a release of torchtext came out beside.
TORCH_BESIDE = {"0.9": (1, 8), "0.12": (1, 11)}
