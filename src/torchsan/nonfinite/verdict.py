"""What is said of an origin: the sentence that tells what happened, and how to mend it, by the kind of operation."""

from __future__ import annotations

from torchsan.nonfinite.origin import External, Record
from torchsan.own import re

_PLAIN = {
    "mm": "matrix product",
    "bmm": "matrix product",
    "addmm": "matrix product",
    "baddbmm": "matrix product",
    "matmul": "matrix product",
    "linear": "matrix product",
    "mv": "matrix product",
    "nll_loss_forward": "nll_loss",
    "nll_loss2d_forward": "nll_loss",
}
UNKNOWN = "look at what the loss is computed from, with `torch.isfinite(value).all()`, from the batch to the last line"
GENERAL = "keep the inputs of this operation in range: the values below are what it was given"
_ROOTS = ("Sqrt", "Pow", "Rsqrt", "Hypot")


def told(record: Record, external: External | None) -> str:
    """ "`log` in `Model.energy` makes infinity out of finite values": what happened, without where it was seen."""
    what = operation(record)
    result = "NaN" if record.nan else "infinity"
    if external is not None:
        name = f"the {external.kind} `{external.name}`" if external.name else "a value from before the step"
        return f"{name} holds {'NaN' if external.nan else 'infinite values'}: {what} is the first to use it"
    if record.given:
        return f"{what} writes {result}"
    if "masked" in record.traits and "softmax" in record.operation:
        return f"{what} makes NaN out of rows that are -inf throughout: everything in them is masked"
    if "empty" in record.traits and not record.backward:
        return f"{what} makes {result} out of no values at all: its input is empty"
    if record.sources:
        return f"{what} makes {result} out of infinite values"
    return f"{what} makes {result} out of finite values"


def operation(record: Record) -> str:
    """ "`log` in `Model.energy`", "the backward of `sqrt` in `Net.norm`"."""
    where = f" in `{record.module}`" if record.module else ""
    if record.backward and record.node is not None:
        return f"the backward of `{plain(record.node)}`{where}"
    more = f" ({_PLAIN[record.operation]})" if record.operation in _PLAIN else ""
    return f"`{record.operation}`{more}{where}"


def plain(node: str) -> str:
    """The operation that an autograd node belongs to: "sqrt" for SqrtBackward0."""
    name = re.sub(r"Backward\d*$", "", node)
    return name if name != node and not node.endswith("0") else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def mend(record: Record, external: External | None) -> str:
    """What to do about it."""
    name = record.operation
    if external is not None:
        if external.kind in ("parameter", "buffer"):
            return (
                "look at where its values come from (a checkpoint, an initialisation, an earlier step): "
                "`torch.isfinite(value).all()` after loading tells"
            )
        return "look at where this value is made"
    if record.backward and record.node is not None:
        node = re.sub(r"Backward\d*$", "", record.node)
        if node in _ROOTS:
            return (
                "the slope of a root is infinite at 0: add a small number under it, `torch.sqrt(x + 1e-12)`, or use "
                "`torch.linalg.vector_norm` or `std`, whose slope there is 0"
            )
        if record.node.endswith("0"):
            return _OPERATIONS.get(node.lower(), _FORWARD_AND_BACK)
        return "mend the `backward` of this function for such values; `torch.autograd.gradcheck` tests it"
    if record.given:
        return "the value is written here on purpose: see what is done with it"
    if "softmax" in name and "masked" in record.traits:
        return "leave one position of each row unmasked, or mask with a finite number: `scores.masked_fill(mask, -1e4)`"
    if "empty" in record.traits:
        return "leave such batches out, or divide a sum by `max(count, 1)`"
    if name.startswith("nll_loss"):
        return "no target of this batch counts: leave it out, or use `reduction='sum'` and divide by `max(count, 1)`"
    if name in ("std", "var", "std_mean", "var_mean") and record.nan:
        return "the spread of one value is not defined: use `correction=0`, or more values"
    if name in ("log", "log2", "log10") and "negative" in record.traits:
        return "the logarithm of a negative number is NaN: `torch.log(x.clamp_min(1e-12))`"
    if record.dtype == "float16" and not record.sources and name not in ("log", "div", "reciprocal", "rsqrt"):
        return (
            "float16 ends at 65504: scale the inputs down first (attention: `q / math.sqrt(width)`), or compute this "
            "in float32 or bfloat16"
        )
    if name == "mul" and record.sources:
        return "0 times infinity is NaN: use `torch.where` to leave values out, and keep the infinite ones from arising"
    if name in ("sub", "add") and record.sources:
        return "infinity minus infinity is NaN: keep the infinite values from arising"
    if name == "pow":
        return "a negative number has no root, and 0 no inverse: clamp the base, `x.clamp_min(1e-12).pow(...)`"
    if record.large is not None:
        return "the weights have become huge: lower the learning rate, or clip the gradients"
    return _OPERATIONS.get(name, GENERAL)


_FORWARD_AND_BACK = "keep the values that this operation saved in its forward away from where its slope is infinite"
_LOG = "log(0) is -inf: `torch.log(x.clamp_min(1e-12))`; for probabilities, `log_softmax` or `logsigmoid` of the scores"
_DIVISOR = "the divisor is 0: `x / y.clamp_min(1e-8)`; a count can be 0 as well: `max(count, 1)`"
_EXP = "exp overflows beyond 88 in float32: `torch.logsumexp` or a softmax subtract the largest value first; or clamp"
_ARC = "beyond -1 and 1 it is NaN, and at the ends its slope is infinite: `x.clamp(-1 + 1e-6, 1 - 1e-6)`"
_OPERATIONS = {
    "log": _LOG,
    "log2": _LOG,
    "log10": _LOG,
    "div": _DIVISOR,
    "reciprocal": _DIVISOR,
    "rsqrt": "1 / sqrt(0) is infinite: add a small number, `torch.rsqrt(x + 1e-12)`",
    "sqrt": "a negative number has no square root: `torch.sqrt(x.clamp_min(1e-12))`",
    "exp": _EXP,
    "expm1": _EXP,
    "acos": _ARC,
    "asin": _ARC,
    "atanh": _ARC,
    "logit": "logit is infinite at 0 and 1: give it an `eps`",
    "log1p": "log1p(-1) is -inf: clamp the input above -1",
}
