"""Shapes that do not fit: products, sums, cat and stack, views, splits."""

from __future__ import annotations

from torch import nn

from torchsan.errors.family import Family, Said, Seen, shape
from torchsan.errors.operands import modules_on
from torchsan.own import math, re, torch


def _layer(seen: Seen) -> nn.Module | None:
    modules = modules_on(seen.way)
    return modules[-1] if modules else None


def _product(seen: Seen) -> Said | None:
    """Two matrices, or what a Linear layer is given and its weight."""
    layer = _layer(seen)
    given = seen.given("input")
    if isinstance(layer, nn.Linear) and isinstance(given, torch.Tensor):
        return _linear(layer, given, seen)
    pair = seen.tensors()
    if len(pair) == 2 and all(one.value.dim() >= 2 for one in pair):
        left, right = pair
        fact = f"`{left.name}` ends in {left.value.shape[-1]}, the rows of `{right.name}` are {right.value.shape[-2]}"
        if left.value.shape[-1] == right.value.shape[-1]:
            return Said((fact,), right, f"transpose the right one: `{left.name} @ {right.name}.transpose(-2, -1)`")
        if left.value.shape[-2] == right.value.shape[-2]:
            return Said((fact,), left, f"transpose the left one: `{left.name}.transpose(-2, -1) @ {right.name}`")
        return Said((fact,), None, "the last size of the left one must be the last but one of the right one")
    numbers = [int(size) for size in re.findall(r"\d+", seen.match[0])]
    if len(numbers) == 4:
        fact = f"the last dimension of the left one is {numbers[1]}, and the first of the right one is {numbers[2]}"
        if numbers[1] == numbers[3]:
            return Said((fact,), None, "both end in the same size: transpose the right one, `b.transpose(-2, -1)`")
        return Said((fact,))
    return None


def _linear(layer: nn.Linear, given: torch.Tensor, seen: Seen) -> Said:
    last, wanted = given.shape[-1] if given.dim() else 1, layer.in_features
    fact = f"the last dimension of the input is {last}, and the layer takes {wanted}"
    operand = seen.operand(given)
    name = operand.name if operand is not None and " of " not in operand.name else "x"
    if given.dim() > 2 and math.prod(given.shape[1:]) == wanted:
        return Said((fact,), operand, f"flatten all but the batch first: `{name}.flatten(1)`")
    places = [at for at, size in enumerate(given.shape[:-1]) if size == wanted]
    if len(places) == 1 and given.dim() > 2:
        return Said((fact,), operand, f"dimension {places[0]} has that size: `{name}.transpose({places[0]}, -1)`")
    if given.dim() > 2:
        total = math.prod(given.shape[1:])
        return Said(
            (fact,),
            operand,
            f"make it `nn.Linear({last}, {layer.out_features})`; if the input is to be flattened, "
            f"`{name}.flatten(1)` and `nn.Linear({total}, {layer.out_features})`",
        )
    return Said((fact,), operand, f"make the layer `nn.Linear({last}, {layer.out_features})`, or look at what comes in")


def _batched(seen: Seen) -> Said | None:
    if "scaled_dot_product_attention" in seen.line():
        shapes = ", ".join(f"`{one.name}` is {shape(one.value)}" for one in seen.tensors())
        return Said(
            (shapes,) if shapes else (),
            None,
            "key and value have one length, and all three one batch and number of heads",
            "the shapes of query, key and value do not fit one another",
        )
    told = _product(seen)
    if told is not None and (told.value is not None or told.facts):
        return told
    return None


def _channels(seen: Seen) -> Said:
    sizes, wanted, got = seen.match["sizes"], int(seen.match["wanted"]), seen.match["got"]
    places = [at for at, size in enumerate(map(int, sizes.split(","))) if size == wanted and at != 1]
    fact = f"dimension 1 is the channels: the layer takes {wanted}, the input has {got}"
    if places:
        fact += f"; dimension {' or '.join(map(str, places))} of the input has {wanted}"
    given = seen.given("input")
    operand = seen.operand(given) if isinstance(given, torch.Tensor) else None
    name = operand.name if operand is not None and " of " not in operand.name else "x"
    last = len(sizes.split(",")) - 1
    if last in places:
        order = ", ".join(map(str, (0, last, *range(1, last))))
        return Said((fact,), operand, f"the channels come last: `{name}.permute({order})`")
    if len(sizes.split(",")) == last + 1 and last == 2 and wanted == 1:
        return Said((fact,), operand, f"add the channel: `{name}.unsqueeze(1)`")
    return Said((fact,), operand, f"make the layer take {got} channels, or look at what comes in")


def _rank(seen: Seen) -> Said | None:
    """A layer that wants more dimensions: mostly the channels or the batch are missing."""
    given = seen.given("input")
    if not isinstance(given, torch.Tensor):
        return None
    operand = seen.operand(given)
    name = operand.name if operand is not None and " of " not in operand.name else "x"
    layer = _layer(seen)
    wanted = getattr(layer, "in_channels", None)
    fact = f"the input has {given.dim()} dimensions, {shape(given)}"
    if given.dim() == 3 and wanted == 1:
        return Said((fact,), operand, f"add the channel: `{name}.unsqueeze(1)`")
    if given.dim() > 4:
        return Said((fact,), operand, f"put what is too much into the batch: `{name}.flatten(0, {given.dim() - 4})`")
    return Said((fact,), operand)


def _stretch(seen: Seen) -> Said | None:
    """Two sizes that do not broadcast: which of the operands has which."""
    a, b, at = (int(seen.match[key]) for key in ("a", "b", "at"))
    pair = seen.tensors() if len(seen.tensors()) == 2 else []
    fact = f"dimension {at} is {a} in one and {b} in the other; only a 1 would stretch"
    if len(pair) != 2:
        return Said((fact,))
    left, right = pair
    fact = f"dimension {at} is {a} in `{left.name}`, {b} in `{right.name}`; only a 1 would stretch"
    wide = max(left.value.dim(), right.value.dim())
    ends = [
        tuple(one.value.shape[one.value.dim() - wide + at :][:1]) for one in pair if one.value.dim() - wide + at >= 0
    ]
    if ends != [(a,), (b,)]:
        return Said((f"dimension {at} is {a} in one and {b} in the other; only a 1 would stretch",))
    small, large = sorted(pair, key=lambda one: one.value.dim())
    if small.value.dim() == 1 and large.value.dim() == 2 and small.value.shape[0] == large.value.shape[0]:
        return Said((fact,), None, f"a row each: `{small.name}.unsqueeze(1)`")
    if left.value.dim() == right.value.dim() == 2 and left.value.shape == right.value.shape[::-1]:
        return Said((fact,), None, f"one of them is the other way round: `{right.name}.t()`")
    return Said((fact,))


def _entries(seen: Seen) -> Said:
    fact = f"entry {seen.match['at']} is [{seen.match['one']}], entry {seen.match['bt']} is [{seen.match['other']}]"
    return Said((fact,))


def _layout(seen: Seen) -> Said:
    """A view of a number of values that does not divide."""
    sizes = [int(size) for size in seen.match["sizes"].split(",") if size.strip()]
    count = int(seen.match["count"])
    known = math.prod(size for size in sizes if size != -1)
    facts = [f"{count} values cannot be laid out as {sizes}"]
    tensors = seen.tensors()
    value = tensors[0] if tensors and tensors[0].value.numel() == count else None
    if known and count % known:
        facts.append(f"{count} = {known} x {count // known} + {count % known}")
    batch = value.value.shape[0] if value is not None and value.value.dim() else 0
    if value is not None and value.value.dim() > 2 and sizes and sizes[0] == -1 and count % batch == 0:
        return Said(
            tuple(facts), value, f"keep the batch and take the rest: `{value.name}.flatten(1)`, {count // batch} each"
        )
    return Said(tuple(facts), value)


def _in_place(seen: Seen) -> Said | None:
    tensors = seen.tensors()
    if not tensors:
        return None
    name = tensors[0].name
    return Said(
        (f"`{name}` is {shape(tensors[0].value)} and cannot grow to [{seen.match['wide']}] in place",),
        tensors[0],
        f"write `{name} = {name} + ...`, or bring the other one to {shape(tensors[0].value)}",
    )


def _split(seen: Seen) -> Said:
    sizes = [int(size) for size in re.findall(r"\d+", seen.match["sizes"])]
    return Said((f"{' + '.join(map(str, sizes))} is {sum(sizes)}, the dimension has {seen.match['size']}",))


_FIT = "shapes do not fit one another"
FAMILIES = (
    Family("", r"shapes cannot be multiplied \(\d+x\d+ and \d+x\d+\)", number=508, look=_product, what=_FIT,
           mend="the last size of the left one must be the first of the right one"),
    Family("", r"Expected size for first two dimensions of batch2 tensor to be: \[(?P<wanted>[\d, ]+)\] but got: "
           r"\[(?P<got>[\d, ]+)\]", number=508, look=_batched, what=_FIT, fact="the right one has [{got}] where "
           "[{wanted}] would fit", mend="transpose the last two of the right one, `k.transpose(-2, -1)`, or bring the "
           "batches to one size"),
    Family("", r"size mismatch, got input \((?P<rows>\d+)\), mat \((?P<mat>\d+x\d+)\), vec \((?P<vec>\d+)\)",
           number=508, what=_FIT, fact="the matrix is {mat}, the vector has {vec}", mend="its columns must be as many "
           "as the vector has"),
    Family("", r"Given groups=\d+, weight of size .* expected input\[(?P<sizes>\d+, \d+, \d+, (?P<wanted>[134]))\] to have "
           r"(?P=wanted) channels, but got (?P<got>\d+)", number=12, look=_channels, what="a convolution takes (batch, "
           "channels, height, width), and its input is (batch, height, width, channels)", mend="the channels are dimension 1"),
    Family("", r"Given (groups|transposed)=\d+, weight of size .* expected input\[(?P<sizes>[\d, ]+)\] to have "
           r"(?P<wanted>\d+) channels, but got (?P<got>\d+)", number=508, look=_channels, what=_FIT,
           mend="the channels are dimension 1"),
    Family("", r"Expected (?P<wanted>.*) input to conv\w*, but got input of size: \[(?P<got>[\d, ]*)\]", number=508,
           what=_FIT, fact="a convolution takes {wanted}: (batch, channels, height, width); the input is [{got}]",
           look=_rank, mend="look for a missing batch or channel dimension: `x.unsqueeze(0)`, `x.unsqueeze(1)`"),
    Family("", r"running_mean should contain (?P<got>\d+) elements not (?P<wanted>\d+)", number=508, what=_FIT,
           fact="the layer has {wanted} features, the input has {got} in dimension 1", mend="make the layer's "
           "`num_features` {got}, or bring the channels to dimension 1"),
    Family("", r"Given normalized_shape=\[(?P<wanted>[\d, ]+)\], expected input with shape .* but got input of size "
           r"?\[(?P<got>[\d, ]+)\]", number=508, what=_FIT, fact="the layer is for inputs that end in [{wanted}], the "
           "input is [{got}]", mend="give LayerNorm the last size of what comes in, or bring the features to the end"),
    Family("", r"input\.size\(-1\) must be equal to input_size\. Expected (?P<wanted>\d+), got (?P<got>\d+)",
           number=508, what=_FIT, fact="the layer takes {wanted} features, the last dimension of the input is {got}",
           mend="make the layer's `input_size` {got}, or bring the features to the end"),
    Family("", r"shape '\[(?P<sizes>.*)\]' is invalid for input of size (?P<count>\d+)", number=508, look=_layout,
           what=_FIT, mend="the product of the sizes must be the number of values; leave one of them to -1"),
    Family("", r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at non-singleton "
           r"dimension (?P<at>\d+)", number=508, look=_stretch, what=_FIT, mend="bring them to one shape: "
           "`x.unsqueeze(dim)` where a dimension is missing, `.transpose` where they are swapped"),
    Family("", r"Sizes of tensors must match except in dimension (?P<at>\d+)\. Expected size (?P<a>\d+) but got size "
           r"(?P<b>\d+) for tensor number (?P<n>\d+)", number=508, what=_FIT, fact="cat along dimension {at} wants "
           "all other sizes equal: one is {a}, the other {b} (tensor {n} of the list)", mend="cat along another "
           "dimension, `dim=`, or bring the other sizes together"),
    Family("", r"stack expects each tensor to be equal size, but got \[(?P<one>[\d, ]*)\] at entry (?P<at>\d+) and "
           r"\[(?P<other>[\d, ]*)\] at entry (?P<bt>\d+)", number=508, look=_entries, what=_FIT,
           mend="bring them to one shape first; for sequences `torch.nn.utils.rnn.pad_sequence`"),
    Family("product-of-vectors", r"(inconsistent tensor size, expected tensor \[(?P<a>\d+)\] and src "
           r"\[(?P<b>\d+)\]|1D tensors expected, but got (?P<c>\d)D and (?P<d>\d)D)", "`dot` takes two vectors of one "
           "length", "for matrices use `@`; for a product a row, `(a * b).sum(-1)`"),
    Family("matrix-expected", r"(batch1|batch2) must be a 3D tensor|(self|mat2|mat1|vec) must be a "
           r"(matrix|vector)|mat must be a matrix", "`mm` takes two matrices, `bmm` two batches of matrices",
           "`@` (`torch.matmul`) takes any number of dimensions"),
    Family("product-with-a-number", r"both arguments to matmul need to be at least 1D, but they are (?P<a>\d)D and "
           r"(?P<b>\d)D", "a number stands in a matrix product", "multiply by a number with `*`"),
    Family("expand-impossible", r"The expanded size of the tensor \((?P<wanted>\d+)\) must match the existing size "
           r"\((?P<got>\d+)\) at non-singleton dimension (?P<at>\d+)\.\s+Target sizes: \[(?P<target>[\d, "
           r"]*)\]\.\s+Tensor sizes: \[(?P<sizes>[\d, ]*)\]", "a value does not fit into the place that it is to fill",
           "only dimensions of size 1 stretch: bring the value to [{target}]", fact="[{sizes}] cannot become "
           "[{target}]: dimension {at} is {got}, and {wanted} is wanted"),
    Family("expand-fewer-dimensions", r"expand\(.*\{\[(?P<sizes>[\d, ]*)\]\}, size=\[(?P<target>[\d, ]*)\]\): the "
           r"number of sizes provided", "a value has more dimensions than the place that it is to fill",
           "take the extra dimension away, `.squeeze(dim)`, or keep it on the left, `x[:, 0:1]`",
           fact="[{sizes}] cannot become [{target}]"),
    Family("in-place-result-too-large", r"output with shape \[(?P<own>[\d, ]*)\] doesn't match the broadcast shape "
           r"\[(?P<wide>[\d, ]*)\]", "the result of an in-place operation is larger than what it is to be written to",
           "write `x = x + y`", look=_in_place, fact="[{own}] cannot grow to [{wide}] in place"),
    Family("repeat-fewer-dimensions", r"Number of dimensions of repeat dims can not be smaller than number of "
           r"dimensions of tensor", "`repeat` is given fewer numbers than the tensor has dimensions",
           "give one number a dimension: `x.repeat(2, 1)` repeats the rows"),
    Family("cat-dimensions", r"Tensors must have same number of dimensions: got (?P<a>\d+) and (?P<b>\d+)",
           "`cat` joins tensors of the same number of dimensions", "`unsqueeze` the smaller one, or use `torch.stack`",
           fact="one has {a} dimensions, the other {b}"),
    Family("empty-list-of-tensors", r"expect(ed|s) a non-empty (list of Tensors|TensorList)",
           "the list to join is empty", "nothing was appended on the way: look at the loop or filter that fills it"),
    Family("cat-of-no-list", r"(?P<call>cat|stack|hstack|vstack|concat\w*)\(\): argument 'tensors' \(position 1\) "
           r"must be tuple of Tensors, not Tensor", "`{call}` is given tensors one by one",
           "put them into a list: `torch.{call}([a, b])`"),
    Family("cat-of-strangers", r"expected Tensor as element (?P<at>\d+) in argument (?P<n>\d+), but got "
           r"(?P<kind>[\w.]+)", "the list to join holds something that is no tensor", "make it one: "
           "`torch.as_tensor(value)`", fact="element {at} is of type {kind}"),
    Family("two-unknown-sizes", r"only one dimension can be inferred", "two sizes of the shape are -1",
           "name all sizes but one"),
    Family("permute-count", r"number of dimensions in the tensor input does not match the length of the desired "
           r"ordering of dimensions i\.e\. input\.dim\(\) = (?P<a>\d+) is not equal to len\(dims\) = (?P<b>\d+)",
           "`permute` takes every dimension exactly once", "for two of them, `x.transpose(-2, -1)`",
           fact="the tensor has {a} dimensions, {b} were given"),
    Family("permute-repeated", r"permute\(\): duplicate dims are not allowed|repeated dim in permute",
           "`permute` is given a dimension twice", "name every dimension once"),
    Family("dimension-out-of-range", r"Dimension out of range \(expected to be in range of \[(?P<low>-?\d+), "
           r"(?P<high>-?\d+)\], but got (?P<got>-?\d+)\)", "there is no dimension of that number",
           "count from 0, or from the end with -1; the batch is mostly dimension 0", fact="dimension {got} was asked "
           "for, the dimensions are {low} to {high}"),
    Family("split-sizes", r"split_with_sizes expects split_sizes to sum exactly to (?P<size>\d+).*got "
           r"split_sizes=\[(?P<sizes>[\d, ]*)\]", "the parts to split into do not add up", "the parts must add up to "
           "the size of the dimension", look=_split),
    Family("chunk-of-none", r"chunk expects `chunks` to be greater than 0, got: (?P<n>-?\d+)",
           "`chunk` is asked for no parts", "give the number of parts, 1 or more", fact="{n} parts were asked for"),
    Family("unflatten-sizes", r"unflatten: Provided sizes \[(?P<sizes>.*)\] don't multiply up to the size of dim "
           r"(?P<at>-?\d+) \((?P<size>\d+)\)", "the sizes to unflatten to do not make up the dimension",
           "leave one of them to -1", fact="[{sizes}] is not {size}, the size of dimension {at}"),
    Family("flatten-order", r"flatten\(\) has invalid args: start_dim cannot come after end_dim",
           "`flatten` is told to end before it begins", "`flatten(1)` keeps the batch and joins the rest"),
    Family("", r"einsum\(\): ", number=428),
    Family("", r"view size is not compatible with input tensor's size and stride", number=406),
    Family("cross-dimension", r"no dimension of size 3 in input|linalg\.cross: inputs dimension -?\d+ must have "
           r"length 3", "a cross product takes vectors of 3", "name the dimension of size 3, `dim=`"),
    Family("distance-columns", r"X1 and X2 must have the same number of columns\. X1: (?P<a>\d+) X2: (?P<b>\d+)",
           "`cdist` takes points of one dimension", "bring both to the same last size", fact="{a} columns against {b}"),
    Family("negative-size", r"Trying to create tensor with negative dimension (?P<n>-?\d+)|Dimension size must be "
           r"non-negative", "a size is negative", "look at the difference that it is computed from"),
    Family("storage-overflow", r"Storage size calculation overflowed with sizes=\[(?P<sizes>[\d, ]*)\]",
           "the tensor asked for is larger than any memory", "look at what its sizes are computed from",
           fact="sizes [{sizes}]"),
    Family("square-matrix", r"(?P<call>[\w.]+): A must be batches of square matrices, but they are (?P<a>\d+) by "
           r"(?P<b>\d+) matrices", "`{call}` takes square matrices", "for others use `torch.linalg.lstsq` or `pinv`",
           fact="the matrix is {a} x {b}"),
    Family("matrix-of-two-dimensions", r"(?P<call>tril|triu)\w*: input tensor must have at least 2 dimensions",
           "`{call}` takes a matrix", "`torch.{call}(torch.ones(n, n))` for a mask of n places"),
    Family("reduce-nothing", r"(?P<call>\w+)\(\): Expected reduction dim .*(input\.numel\(\) == 0|to have non-zero "
           r"size)", "`{call}` of no values at all", "leave empty batches out: `if x.numel():`"),
)
