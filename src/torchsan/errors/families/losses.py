"""Losses: what they want of scores and targets."""

from __future__ import annotations

from torchsan.errors.family import Family, Said, Seen, dtype, shape
from torchsan.own import re, torch


def _pair(seen: Seen) -> tuple[torch.Tensor, torch.Tensor, str, str] | None:
    """Scores and targets, with the user's words for them."""
    scores, target = seen.given("input"), seen.given("target")
    if not isinstance(scores, torch.Tensor) or not isinstance(target, torch.Tensor):
        return None
    first, second = seen.operand(scores), seen.operand(target)
    return scores, target, _plain(first, "scores"), _plain(second, "target")


def _plain(operand: object, other: str) -> str:
    name = getattr(operand, "name", other)
    return other if " of " in name else name


def _fact(scores: torch.Tensor, target: torch.Tensor, first: str, second: str) -> str:
    return f"`{first}` is {shape(scores)}, `{second}` is {shape(target)}"


def _classes(seen: Seen) -> Said | None:
    """Scores and class numbers whose shapes do not fit: where the classes stand."""
    pair = _pair(seen)
    if pair is None:
        return None
    scores, target, first, second = pair
    fact = _fact(*pair)
    value = seen.operand(target)
    if target.dim() == scores.dim() and target.shape[1:2] == (1,):
        return Said((fact,), value, f"take the 1 away: `{second}.squeeze(1)`")
    if target.dim() == scores.dim() and target.shape[-1:] == (1,) and target.shape[:1] == scores.shape[:1]:
        return Said((fact,), value, f"take the 1 away: `{second}.squeeze(-1)`")
    if scores.dim() == 3 and target.shape == scores.shape[:2]:
        return Said(
            (fact,),
            seen.operand(scores),
            f"the classes come second, not last: `{first}.transpose(1, 2)`, or "
            f"flatten both, `{first}.flatten(0, 1)` and `{second}.flatten()`",
        )
    if scores.dim() > 3 and target.shape == (scores.shape[0], *scores.shape[1:-1]):
        return Said((fact,), seen.operand(scores), f"the classes come second, not last: `{first}.movedim(-1, 1)`")
    if scores.dim() == 4 and target.dim() == 4 and target.shape[-1] == 3:
        return Said((fact,), value, "the mask is a colour image: turn its colours into class numbers, (N, H, W)")
    if scores.dim() == 2 and target.dim() == 2 and target.numel() == scores.shape[0]:
        return Said((fact,), value, f"the scores are flattened, the targets are not: `{second}.flatten()`")
    if scores.dim() == 2 and target.dim() == 2 and target.shape[1] != scores.shape[1]:
        return Said(
            (fact,),
            value,
            "each row has one class number, (N,), or one probability a class, (N, C); for several yes/no "
            "answers a row use `F.binary_cross_entropy_with_logits`",
        )
    return Said((fact,), value, "scores (N, C) go with class numbers (N,); (N, C, L) with (N, L)")


def _one_hot(seen: Seen) -> Said | None:
    pair = _pair(seen)
    if pair is None:
        return None
    scores, target, first, second = pair
    fact = f"`{second}` is {dtype(target)} {shape(target)}, the shape of the scores"
    if scores.dim() == 1:
        if not scores.is_floating_point():
            return Said(
                (f"`{first}` is {dtype(scores)} {shape(scores)}",),
                seen.operand(scores),
                "give it the scores, (N, C), and not their argmax",
                "the scores are class numbers",
            )
        return Said((fact,), seen.operand(target), "scores are (N, C): one row a sample, one column a class")
    return Said(
        (fact,), seen.operand(target), f"give class numbers, `{second}.argmax(1)`, or probabilities, `{second}.float()`"
    )


def _rows(seen: Seen) -> Said | None:
    """Batches of different sizes."""
    pair = _pair(seen)
    rows = f"the output has {seen.match['a']} rows, the target {seen.match['b']}"
    if pair is None:
        return Said((rows,))
    scores, target, first, second = pair
    facts = (rows, _fact(*pair))
    value = seen.operand(target)
    if target.dim() >= 2 and target.numel() == scores.shape[0]:
        return Said(facts, value, f"flatten the targets as the scores are: `{second}.flatten()`")
    if scores.dim() >= 2 and scores.numel() == target.shape[0] * scores.shape[-1] and scores.dim() > 2:
        return Said(facts, seen.operand(scores), f"flatten the scores as the targets are: `{first}.flatten(0, -2)`")
    if scores.dim() >= 2 and target.dim() == 1 and scores.shape[1] == target.shape[0]:
        return Said(
            facts, seen.operand(scores), f"the batch is the second dimension of the output: `{first}.transpose(0, 1)`"
        )
    if scores.dim() == 2 and scores.shape[0] % max(target.shape[0], 1) == 0:
        return Said(
            facts,
            seen.operand(scores),
            "rows that belong to one sample have become samples: look at the `view` or "
            "`reshape` before the last layer, and keep the batch in front",
        )
    if target.shape[0] and scores.shape[0] and target.shape[0] % scores.shape[0] == 0:
        return Said(facts, value, "the targets hold several numbers a sample: look at how they are flattened")
    return Said(facts, value)


def _same(seen: Seen) -> Said | None:
    """Losses that compare value by value."""
    pair = _pair(seen)
    said = re.search(r"arget size \(torch\.Size\(\[(.*?)\]\)\).*input size \(torch\.Size\(\[(.*?)\]\)\)", seen.text)
    plain = (f"the output is [{said[2]}], the target [{said[1]}]",) if said else ()
    if pair is None:
        return Said(plain)
    scores, target, first, second = pair
    facts = (_fact(*pair),)
    if scores.dim() == target.dim() + 1 and scores.shape[-1] == 1:
        return Said((*plain, *facts), seen.operand(scores), f"`{first}.squeeze(-1)`, or `{second}.unsqueeze(-1)`")
    if target.dim() == scores.dim() + 1 and target.shape[-1] == 1:
        return Said((*plain, *facts), seen.operand(target), f"`{second}.squeeze(-1)`")
    if scores.dim() == 2 and target.dim() == 1 and scores.shape[0] == target.shape[0]:
        return Said(
            (*plain, *facts),
            seen.operand(target),
            f"these are class numbers against {scores.shape[1]} scores: `F.cross_entropy`, or one-hot targets",
        )
    if scores.numel() == target.numel() and scores.shape[:1] == target.shape[:1]:
        return Said((*plain, *facts), seen.operand(target), f"the values are as many: `{second}.reshape({first}.shape)`")
    return Said((*plain, *facts), seen.operand(target))


def _compared(seen: Seen) -> Said | None:
    pair = _pair(seen)
    if pair is None:
        return None
    return _same(seen)


def _between(seen: Seen) -> Said | None:
    which = seen.match["which"]
    value = seen.given(which)
    if not isinstance(value, torch.Tensor):
        return None
    operand = seen.operand(value)
    name = _plain(operand, which)
    low, high = value.min().item(), value.max().item()
    if low != low or high != high:
        return Said(
            (f"`{name}` holds NaN",), operand, "an operation before it made NaN: find which with `torch.isfinite(value).all()`"
        )
    fact = f"`{name}` goes from {low:.4g} to {high:.4g}"
    if which == "target":
        return Said(
            (fact,),
            operand,
            f"targets are probabilities: divide, `{name} / {high:.4g}`, or use cross-entropy for class numbers",
        )
    return Said(
        (fact,),
        operand,
        "give it probabilities, `torch.sigmoid(scores)`, or the scores to `F.binary_cross_entropy_with_logits`",
    )


def _range(seen: Seen) -> Said | None:
    wrong = seen.match["wrong"]
    scores, target = seen.given("input"), seen.given("target")
    value = seen.operand(target) if isinstance(target, torch.Tensor) else None
    if not isinstance(scores, torch.Tensor) or not scores.dim():
        return Said((f"there is no class {wrong}",), value)
    classes = scores.shape[0 if scores.dim() == 1 else 1]
    fact = f"there is no class {wrong} among {classes}: they count from 0 to {classes - 1}"
    name = _plain(value, "target")
    if isinstance(target, torch.Tensor):
        low, high = int(target.min()), int(target.max())
        if low == 1 and high == classes:
            return Said((fact,), value, f"they count from 1: `{name} - 1`")
        if low < 0 and high < classes:
            return Said((fact,), value, f"pass `ignore_index={low}` if that marks what has no class")
        if high == 255:
            return Said((fact,), value, "pass `ignore_index=255` if that is the border of the masks")
        if high >= classes:
            return Said(
                (fact,),
                value,
                f"the largest is {high}: the last layer needs {high + 1} outputs, or the numbers another map",
            )
    return Said((fact,), value)


def _weights(seen: Seen) -> Said | None:
    weight = seen.given("weight")
    fact = f"there are {seen.match['classes']} classes, `weight` is [{seen.match['shape']}]"
    return Said((fact,), seen.operand(weight) if isinstance(weight, torch.Tensor) else None)


def _other_dtype(seen: Seen) -> Said | None:
    """A loss of floats: which of its arguments has another type."""
    pair = _pair(seen)
    if pair is None:
        return None
    scores, target, first, second = pair
    weight = seen.given("weight")
    if isinstance(weight, torch.Tensor) and weight.dtype != scores.dtype:
        return Said(
            (f"`weight` is {dtype(weight)}, the scores are {dtype(scores)}",),
            seen.operand(weight),
            f"make the weights {dtype(scores)}: `weight.to(scores.dtype)`",
        )
    return None


_LONG = "class numbers are int64: `{value}.long()`; scores (N, C) are compared with class numbers (N,)"
FAMILIES = (
    Family("", r"0D or 1D target tensor expected, multi-target not supported", number=308, look=_classes,
           what="the targets of a class loss have one dimension too many", mend="one class number a row: "
           "`target.squeeze(1)`"),
    Family("", r"Expected target size \[(?P<wanted>[\d, ]*)\], got \[(?P<got>[\d, ]*)\]", number=308, look=_classes,
           what="the class dimension of the scores stands in the wrong place", fact="targets of [{wanted}] would fit, "
           "they are [{got}]", mend="the classes are dimension 1 of the scores"),
    Family("", r"only batches of spatial targets supported \((?P<d>\d)D tensors\) but got targets of "
           r"(dimension|size): ?(?P<got>.*)", number=308, look=_classes, what="a mask has one dimension too many for "
           "a class loss", mend="masks are class numbers (N, H, W): `target.squeeze(1)`"),
    Family("", r"size mismatch \(got input: \[(?P<a>[\d, ]*)\] ?, target: \[(?P<b>[\d, ]*)\]", number=308,
           look=lambda seen: _places(seen), what="scores and targets of a class loss are of different sizes",
           fact="the scores are [{a}], the targets [{b}]", mend="bring them to one size: `F.interpolate(scores, "
           "size=target.shape[-2:])`"),
    Family("", r"Expected floating point type for target with class probabilities, got (?P<type>\w+)", number=306,
           look=_one_hot, what="one-hot targets are integers", mend="give class numbers, `target.argmax(1)`, or "
           "probabilities, `target.float()`"),
    Family("", r"Expected input batch_size \((?P<a>\d+)\) to match target batch_size \((?P<b>\d+)\)", number=308,
           look=_rows, what="output and target hold different numbers of samples", mend="look at the `view` or "
           "`reshape` before the loss, and keep the batch in front"),
    Family("", r"For 1D input, 1D target must have size 1, but got target size: (?P<n>\d+)", number=308,
           what="scores without a class dimension meet several targets", mend="scores are (N, C): one row a sample, "
           "one column a class"),
    Family("", r"Using a target size \(.*\) that is different to the input size", number=308, look=_same,
           what="output and target of the loss have different shapes", mend="bring them to one shape"),
    Family("", r"Target size \(.*\) must be the same as input size", number=308, look=_same,
           what="output and target of the loss have different shapes", mend="bring them to one shape: (N, 1) against "
           "(N,) is `output.squeeze(1)`"),
    Family("", r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at non-singleton "
           r"dimension (?P<at>\d+)", number=308,
           inside=r"functional\.py:(mse_loss|l1_loss|smooth_l1_loss|huber_loss|kl_div)$", look=_compared,
           what="output and target of the loss have different shapes", mend="bring them to one shape"),
    Family("", r"Target (?P<wrong>-?\d+) is out of bounds", number=307, look=_range, mend="classes count from 0 to "
           "the number of outputs less one; use `ignore_index` for what has none"),
    Family("", r"expected scalar type Float but found Double", number=410,
           inside=r"functional\.py:(cross_entropy|nll_loss)$", look=_other_dtype, what="the weights of a loss are "
           "float64, the scores float32", mend="make the weights float32: `weight.float()`"),
    Family("", r"expected scalar type Long but found|expected target dtype to be Long", number=306,
           look=lambda seen: _class_numbers(seen)),
    Family("", r"Found dtype (Long|Int|Byte|Short|Char|Bool) but expected (Float|Double|Half|BFloat16)", number=306,
           look=lambda seen: _binary_targets(seen)),
    Family("", r"result type Float can't be cast to the desired output type (Long|Int|Byte)", number=306,
           inside=r"nn/functional\.py:", look=lambda seen: _binary_targets(seen)),
    Family("probabilities-expected", r"all elements of (?P<which>input|target) should be between 0 and 1",
           "binary cross-entropy takes probabilities", "give it `torch.sigmoid(scores)`, or use the form `with_logits`",
           look=_between),
    Family("loss-weights", r"weight tensor should be defined either for all (?P<classes>\d+) classes or no classes "
           r"but got weight tensor of shape: \[(?P<shape>[\d, ]*)\]", "the loss has another number of weights than "
           "classes", "give one weight a class, or make the last layer as wide", look=_weights),
    Family("loss-of-integers", r"\"\w*(log_softmax|softmax)\w*\" not implemented for "
           r"'(?P<type>Long|Int|Short|Char|Byte|Bool)'", "scores are integers", "give the scores themselves and not "
           "their argmax or labels; if they are meant, `.float()`", fact="the values are {type}"),
    Family("label-smoothing", r"label_smoothing must be between 0\.0 and 1\.0\. Got: (?P<n>\S+)",
           "label smoothing is a share", "give a number from 0 to 1, mostly 0.1", fact="it is {n}"),
    Family("unknown-reduction", r"(?P<given>\S+) is not a valid value for reduction", "the loss knows no such "
           "reduction", "give `reduction=\"mean\"`, `\"sum\"` or `\"none\"`", fact="`{given}` was given"),
    Family("target-out-of-range", r"^target out of range", "a target is no number of a class",
           "classes count from 0 to the number of outputs less one", inside=r"nn/functional\.py:"),
    Family("target-size", r"inconsistent target size: \[(?P<b>[\d, ]*)\] for input of size: \[(?P<a>[\d, ]*)\]",
           "output and target of the loss have different shapes", "bring them to one shape",
           fact="the output is [{a}], the target [{b}]"),
    Family("ranking-loss-shapes", r"margin_ranking_loss : All input tensors should have same dimension but got sizes: "
           r"(?P<sizes>.*)", "the three tensors of a ranking loss differ in dimensions", "all three are (N,): "
           "`.squeeze(1)` what is (N, 1)", fact="{sizes}"),
    Family("ctc-input-lengths", r"Expected input_lengths to have value at most (?P<most>\d+), but got value (?P<n>\d+)",
           "CTC is told of more time steps than the scores have", "the lengths are those after the network, which may "
           "have fewer steps; the scores are (T, N, C)", fact="a length is {n}, the scores have {most} steps"),
    Family("ctc-target-lengths", r"Expected tensor to have size at least (?P<n>\d+) at dimension 1, but got size "
           r"(?P<size>\d+) for argument #2 'targets'", "CTC is told of longer targets than there are",
           "give the length of each target without its padding", fact="a length is {n}, the targets have {size} places"),
    Family("ctc-batch", r"(input|target)_lengths must be of size batch_size", "CTC's scores are not (T, N, C)",
           "bring the time in front: `scores.transpose(0, 1)`; one length a sample"),
    Family("negative-variance", r"var has negative entry/entries", "a variance is negative",
           "make it positive: `F.softplus(raw) + 1e-6`, or `raw.exp()` of its logarithm"),
    Family("huber-delta", r"huber_loss does not support non-positive values for delta", "`delta` of the Huber loss is "
           "not positive", "give a positive `delta`"),
    Family("one-hot-range", r"Class values must be (?P<what>smaller than num_classes|non-negative)",
           "`one_hot` meets a number that is no class", "classes count from 0 to `num_classes - 1`",
           look=lambda seen: _one_hot_values(seen)),
    Family("one-hot-dtype", r"one_hot is only applicable to index tensor", "`one_hot` takes class numbers",
           "`F.one_hot(labels.long(), num_classes)`"),
    Family("target-is-no-tensor", r"argument 'target' \(position \d+\) must be Tensor, not (?P<type>[\w.]+)",
           "the target of a loss is no tensor", "make it one: `torch.tensor(target)`, on the device of the scores",
           fact="the target is of type {type}"),

    Family("ignored-probabilities", r"ignore_index cannot be specified when target contains "
           r"probabilities|ignore_index is not supported for floating point target", "`ignore_index` goes with class "
           "numbers", "drop it, or give class numbers: `target.argmax(1)`"),
    Family("triplet-dimensions", r"The anchor, positive, and negative tensors are expected to have the same number of "
           r"dimensions, but got: (?P<got>.*)", "the three tensors of a triplet loss differ in dimensions",
           "all three (N, D)", fact="{got}"),
    Family("variance-size", r"var is of incorrect size", "the variance of a Gaussian loss has another shape than the "
           "output", "the output's shape, or one value a row, (N, 1)"),
    Family("class-range", r"Target values should be in \[0, (?P<last>\d+)\], but values in range \[(?P<low>-?\d+), "
           r"(?P<high>-?\d+)\] were found", "a target is no number of a class", "classes count from 0 to {last}",
           fact="targets go from {low} to {high}"),
)


def _places(seen: Seen) -> Said | None:
    """A map of scores whose classes come last."""
    pair = _pair(seen)
    return _classes(seen) if pair is not None and pair[1].shape == pair[0].shape[:-1] else None


def _class_numbers(seen: Seen) -> Said | None:
    return _of_dtype(seen, "class numbers are int64: `{name}.long()`")


def _binary_targets(seen: Seen) -> Said | None:
    return _of_dtype(seen, "binary losses take targets that are float, like the scores: `{name}.float()`")


def _of_dtype(seen: Seen, mend: str) -> Said | None:
    target = seen.given("target")
    if not isinstance(target, torch.Tensor):
        return None  # in backward, where nothing tells whose it is
    operand = seen.operand(target)
    name = operand.name if operand is not None else "target"
    return Said((f"`{name}` is {dtype(target)}",), operand, mend.format(name=_plain(operand, "target")))


def _one_hot_values(seen: Seen) -> Said | None:
    tensors = [one for one in seen.tensors() if not one.value.is_floating_point()]
    if len(tensors) != 1 or not tensors[0].value.numel():
        return None
    one = tensors[0]
    return Said((f"`{one.name}` goes from {int(one.value.min())} to {int(one.value.max())}",), one)
