"""Indices: out of range, of the wrong type or number, masks of another shape."""

from __future__ import annotations

from torchsan.errors import out_of_range
from torchsan.errors.family import Family, Said, Seen, dtype, shape
from torchsan.errors.operands import reshaped
from torchsan.own import torch


def _outside(seen: Seen) -> Said | None:
    """Which index lies outside of which tensor: torch names neither."""
    found = out_of_range.find(seen.text, seen.way, seen.operands)
    if found is not None:
        return Said((found.fact(),), found.index, _mend(found))
    said = seen.match.groupdict()
    if said.get("at") is None:
        return None
    fact = f"index {said['wrong']} of {said['size']} places in dimension {said['at']}, 0 to {int(said['size']) - 1}"
    tensors = seen.tensors()
    if (
        tensors
        and tensors[0].value.dim() > int(said["at"])
        and tensors[0].value.shape[int(said["at"])] == int(said["size"])
    ):
        return Said((f"{fact} of `{tensors[0].name}`",), None, "count from 0; the last one is -1")
    return Said((fact,), None, "count from 0; the last one is -1")


def _mend(found: out_of_range.Outside) -> str:
    if out_of_range.is_counting(found.index.value):
        return ""
    if found.value < 0:
        return (
            f"`{found.index.name}` holds negative numbers: padding such as -100 belongs to the targets, not to an index"
        )
    return ""


def _mask(seen: Seen) -> Said | None:
    masks = [one for one in seen.tensors() if one.value.dtype is torch.bool]
    if len(masks) != 1:
        return None
    return Said(
        (f"`{masks[0].name}` is {shape(masks[0].value)}: [{seen.match['a']}] against [{seen.match['b']}]",), masks[0]
    )


def _list(seen: Seen) -> Said | None:
    one = seen.only(lambda value: value.is_floating_point() and value.dim() == 1)
    return None if one is None else Said((f"`{one.name}` is {shape(one.value)}",), None)


FAMILIES = (
    Family("", r"Expected tensor for argument #1 'indices' to have one of the following scalar types", number=411,
           look=lambda seen: _index_type(seen)),
    Family("", r"(gather|scatter\w*|index_select|index_add\w*|take)\(\): Expected dtype int\S* .*for index", number=411,
           look=lambda seen: _index_type(seen)),
    Family("", r"gather\(\): Expected dtype int\S* for index", number=411, look=lambda seen: _index_type(seen)),
    Family("", r"tensors used as indices must be long", number=411, look=lambda seen: _index_type(seen)),
    Family("index-out-of-range", r"index out of range in self|index (?P<wrong>-?\d+) is out of bounds for dimension "
           r"(?P<at>\d+) with size (?P<size>\d+)", "an index is larger than what it points into", "compare the "
           "largest index with the size: an embedding needs `num_embeddings` above the largest index, and the padding "
           "and special tokens of a tokenizer count too; one of positions, no fewer rows than the longest sequence "
           "has places", look=_outside),
    Family("too-many-indices", r"too many indices for tensor of dimension (?P<n>\d+)", "a tensor is indexed in more "
           "dimensions than it has", "print its shape: a batch or channel dimension is missing",
           fact="it has {n} dimensions"),
    Family("index-of-a-number", r"invalid index of a 0-dim tensor", "a tensor of one number is indexed",
           "`.item()` gives the number; losses are numbers since torch 0.4: `loss.item()` and not `loss.data[0]`"),
    Family("mask-of-other-shape", r"The shape of the mask \[(?P<a>[\d, ]*)\] at index \d+ does not match the shape of "
           r"the indexed tensor \[(?P<b>[\d, ]*)\]", "a mask has another shape than what it picks from",
           "compute the mask from the tensor that it picks from", fact="the mask is [{a}], the tensor [{b}]", look=_mask),
    Family("indices-of-other-shapes", r"shape mismatch: indexing tensors could not be broadcast together with shapes "
           r"(?P<shapes>.*)", "two index tensors of one bracket differ in length", "for all pairs: `x[rows][:, "
           "columns]`", fact="they are {shapes}"),
    Family("values-of-other-shape", r"shape mismatch: value tensor of shape \[(?P<a>[\d, ]*)\] cannot be broadcast to "
           r"indexing result of shape \[(?P<b>[\d, ]*)\]", "the values do not fit the places that they are written to",
           "bring them to the shape of the places", fact="the values are [{a}], the places [{b}]"),
    Family("array-into-tensor", r"can't assign a (?P<type>[\w.]+) to a torch\.(?P<to>\w+)",
           "something that is no tensor is written into one", "`torch.as_tensor(value)` first",
           fact="it is of type {type}"),
    Family("negative-step", r"step must be greater than zero", "a tensor cannot be sliced backwards", "`x.flip(0)`"),
    Family("index-of-other-type", r"only integers, slices \(`:`\), ellipsis \(`\.\.\.`\), None and long or byte "
           r"Variables are valid indices \(got (?P<type>\w+)\)", "an index is neither a number nor a slice",
           "`int(i)` or `//` where it is computed", fact="it is of type {type}"),
    Family("gather-dimensions", r"Index tensor must have the same number of dimensions as (input|self|src) tensor",
           "`gather` and `scatter` take an index with as many dimensions as the tensor", "`index.unsqueeze(1)` to "
           "pick one of each row", look=lambda seen: _dimensions(seen)),
    Family("gather-sizes", r"Size does not match at dimension (?P<at>\d+) expected index \[(?P<a>[\d, ]*)\] to be (no "
           r"larger|smaller) than self \[(?P<b>[\d, ]*)\]", "the index of `gather` is larger than the tensor in "
           "another dimension", "pick along the other dimension, `dim=`, or expand the tensor",
           fact="the index is [{a}], the tensor [{b}]"),
    Family("index-is-no-vector", r"index_(select|add)\w*\(\): Index is supposed to be (a vector|1-dimensional)",
           "`index_select` takes a list of indices", "`index.flatten()`, or `x[index]` for an index of any shape"),
    Family("topk-too-many", r"selected index k out of range", "`topk` is asked for more values than there are",
           "`min(k, x.shape[-1])`; with few classes, leave top-5 out", look=lambda seen: _topk(seen)),
)


def _index_type(seen: Seen) -> Said | None:
    """The index that is no int64: what an embedding was given, or what stands behind the tensor that is indexed."""
    value = seen.given("input")
    found = seen.operand(value) if isinstance(value, torch.Tensor) else None
    if found is None:
        wrong = [
            one
            for one in seen.arguments()[1:]
            if isinstance(one.value, torch.Tensor) and one.value.dtype is not torch.int64
        ]
        wrong = [one for one in wrong if not (one.value.is_floating_point() and len(wrong) > 1 and one is not wrong[0])]
        found = seen.operand(wrong[0].value) if wrong else None
    if found is None:
        wrong = [one for one in reshaped(seen.way) if one.value.dtype is not torch.int64]
        found = wrong[0] if len(wrong) == 1 else None
    return None if found is None else Said((f"`{found.name}` is {dtype(found.value)}",), found)


def _dimensions(seen: Seen) -> Said | None:
    index = [one for one in seen.tensors() if not one.value.is_floating_point()]
    others = [one for one in seen.tensors() if one.value.is_floating_point()]
    if len(index) != 1 or not others:
        return None
    fact = f"`{index[0].name}` is {shape(index[0].value)}, `{others[0].name}` is {shape(others[0].value)}"
    return Said(
        (fact,),
        index[0],
        f"to pick one of each row: `{index[0].name}.unsqueeze(1)`" if index[0].value.dim() == 1 else "",
    )


def _topk(seen: Seen) -> Said | None:
    tensors = seen.tensors()
    return Said((f"`{tensors[0].name}` is {shape(tensors[0].value)}",), tensors[0]) if tensors else None
