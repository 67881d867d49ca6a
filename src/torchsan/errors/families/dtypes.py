"""Types of numbers that do not go together."""

from __future__ import annotations

import ast

from torchsan.errors.family import Family, Said, Seen, dtype, shape
from torchsan.errors.operands import Operand, modules_on
from torchsan.own import torch

_INTEGERS = "(Long|Int|Byte|Short|Char|Bool)"
_MATRICES = "(mat1 and mat2|m1 and m2|self and mat2)"
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_HALVES = (torch.float16, torch.bfloat16)


def _given(seen: Seen) -> tuple[Operand | None, torch.dtype | None]:
    """What a layer was given, and the dtype of its weights."""
    modules = modules_on(seen.way)
    own = next((p.dtype for p in modules[-1].parameters(False)), None) if modules else None
    value = seen.given("input")
    operand = seen.operand(value) if isinstance(value, torch.Tensor) else None
    return operand, own


def _halves(seen: Seen) -> Said | None:
    """Half precision meets float32: in a layer, its input; else the operand that is the odd one out."""
    operand, own = _given(seen)
    if operand is not None and own is not None:
        name = operand.name if " of " not in operand.name else "x"
        fact = f"`{name}` is {dtype(operand.value)}, the layer's weights are {str(own).removeprefix('torch.')}"
        if own in _HALVES:
            return Said(
                (fact,), operand, f"`{name}.to({own})`, or keep the weights in float32 and run under `torch.autocast`"
            )
        return Said((fact,), operand, f"`{name}.float()`, or run the model under `torch.autocast`")
    pair = seen.tensors()
    if len(pair) >= 2:
        facts = tuple(f"`{one.name}` is {dtype(one.value)}" for one in pair)
        odd = [one for one in pair if one.value.dtype in _HALVES]
        if len(odd) == 1:
            other = next(one for one in pair if one is not odd[0])
            return Said(
                (", ".join(facts),),
                odd[0],
                f"`{odd[0].name}.to({other.name}.dtype)`, or run both under `torch.autocast`",
            )
        return Said((", ".join(facts),))
    return None


def _types(seen: Seen) -> Said | None:
    """Which of the operands has which type, where none of them is wrong for certain."""
    pair = seen.tensors()
    if len(pair) < 2 or len({one.value.dtype for one in pair}) < 2:
        return None
    fact = ", ".join(f"`{one.name}` is {dtype(one.value)}" for one in pair)
    double = [one for one in pair if one.value.dtype is torch.float64]
    if len(double) == 1:
        return Said((fact,), double[0], f"`{double[0].name}.float()`: NumPy makes float64")
    return Said((fact,), None, f"bring them to one: `{pair[1].name}.to({pair[0].name}.dtype)`")


def _integers(seen: Seen) -> Said | None:
    """An operation of floats that is given integers."""
    first = next(iter(seen.arguments()), None)
    if first is not None and isinstance(first.node, (ast.Compare, ast.BinOp, ast.UnaryOp)):
        return Said((), None, f"`({first.text}).float()`")  # made on the line itself: its operands are of other types
    one = seen.only(lambda value: not value.is_floating_point() and not value.is_complex())
    if one is None:
        return None
    return Said((f"`{one.name}` is {dtype(one.value)}",), one, f"`{one.name}.float()`")


def _written(seen: Seen) -> Said | None:
    tensors = seen.tensors()
    if not tensors or tensors[0].value.is_floating_point():
        return None
    name = tensors[0].name
    node = seen.node()
    sign = _SIGNS.get(type(node.op), "+") if isinstance(node, ast.AugAssign) else "+"
    return Said(
        (f"`{name}` is {dtype(tensors[0].value)} and keeps its type in place",),
        tensors[0],
        f"write `{name} = {name} {sign} ...`, or make it float where it is made: `{name}.float()`",
    )


def _mask(seen: Seen) -> Said | None:
    given = seen.arguments()[:1] if seen.text.startswith("where") else seen.arguments()[1:]
    call = [one for one in given if isinstance(one.value, torch.Tensor) and one.value.dtype is not torch.bool]
    if len(call) != 1:
        return Said((f"the mask is {seen.match.groupdict().get('type') or 'no bool'}",))
    one = call[0]
    operand = seen.operand(one.value)
    return Said(
        (f"`{one.text}` is {dtype(one.value)} {shape(one.value)}",),
        operand,
        f"`{one.text}.bool()`, or a comparison: `{one.text} == 0`",
    )


FAMILIES = (
    Family("", rf"{_MATRICES} (must|to) have the same dtype, but got:? {_INTEGERS}", number=409),
    Family("", r"expected m1 and m2 to have the same dtype, but got: (long|int|unsigned char|short|signed char|bool)",
           number=409),
    Family("", r"Input type \((torch\.)?(cuda\.)?(Long|Int|Byte|Short|long|int|unsigned char)\w*\) and (bias|weight) "
           r"type", number=409),
    Family("", r"mixed dtype \(CPU\): (all inputs must share same datatype|expect parameter to have scalar type)",
           number=410),
    Family("", rf"{_MATRICES} (must|to) have the same dtype, but got:? (Double|double)", number=410),
    Family("", r"Input type \((torch\.)?(cuda\.)?[Dd]ouble\w*\) and (bias|weight) type", number=410),
    Family("", r"RNN input dtype \(torch\.float64\) does not match weight dtype \(torch\.float32\)", number=410),
    Family("", r"Found dtype Double but expected Float", number=410),
    Family("half-meets-float", rf"{_MATRICES} (must|to) have the same dtype, but got:? .*(Half|BFloat16)",
           "half precision and float32 meet in one operation", "run both under `torch.autocast`, or bring them to one "
           "type", look=_halves),
    Family("half-meets-float", r"Input type \(.*\) and (bias|weight) type \(.*\) should be the same",
           "the input of a layer has another type than its weights", "bring the input to the type of the weights, "
           "`x.to(weight.dtype)`", look=_halves),
    Family("half-meets-float", r"RNN input dtype \((?P<a>\S+)\) does not match weight dtype \((?P<b>\S+)\)",
           "the input of a recurrent layer has another type than its weights", "bring the input to the type of the "
           "weights", fact="the input is {a}, the weights are {b}", look=_halves),
    Family("half-meets-float", r"expected m1 and m2 to have the same dtype, but got: (?P<a>.*) != (?P<b>[\w:]+)",
           "two types of numbers meet in one operation", "bring them to one: `b.to(a.dtype)`", fact="{a} meets {b}",
           look=lambda seen: _types(seen)),
    Family("types-in-product", r"expected both vectors to have same dtype, but found (?P<a>\w+) and (?P<b>\w+)",
           "two types of numbers meet in a product", "bring them to one: `b.to(a.dtype)`", fact="{a} meets {b}",
           look=_types),
    Family("types-in-product", r"(self|mat1|m1|mat2) and \w+ must have the same dtype, but got (?P<a>\w+) and "
           r"(?P<b>\w+)", "two types of numbers meet in one operation", "bring them to one: `b.to(a.dtype)`",
           fact="{a} meets {b}", look=_halves),
    Family("types-in-operation", r"expected scalar type (?P<a>\w+) but found (?P<b>\w+)", "two types of numbers meet "
           "in one operation", "bring them to one: `b.to(a.dtype)`; under autocast, keep what is computed by hand out "
           "of it", fact="{b} where {a} is wanted", look=_types),
    Family("types-in-operation", r"expected dtype (?P<a>\w+) for `(?P<what>\w+)` but got dtype (?P<b>\w+)",
           "two types of numbers meet in one operation", "bring them to one: `b.to(a.dtype)`",
           fact="`{what}` is {b}, {a} is wanted", look=_types),
    Family("types-in-attention", r"Expected query, key, and value to have the same dtype, but got query\.dtype: "
           r"(?P<q>[\w: ]+?) key\.dtype: (?P<k>[\w: ]+?) and value\.dtype: (?P<v>[\w: ]+?) instead",
           "query, key and value have different types", "bring them to one: `k.to(q.dtype)`; rotary embeddings often "
           "leave float32 behind", fact="the query is {q}, the key {k}, the value {v}", look=_types),
    Family("attention-mask-type", r"Expected attn_mask dtype to be bool or float or to match query dtype, but got "
           r"attn_mask\.dtype: (?P<type>[\w: ]+?) and", "an attention mask is neither bool nor float",
           "a bool mask is True where to look: `mask.bool()`", fact="the mask is {type}"),
    Family("write-other-type", r"Index put requires the source and destination dtypes match, got (?P<a>\w+) for the "
           r"destination and (?P<b>\w+) for the source", "values of another type are written into a tensor",
           "`x[index] = value.to(x.dtype)`; under autocast, results are half precision", fact="the tensor is {a}, the "
           "values are {b}"),
    Family("write-other-type", r"(?P<call>index_add|scatter)\w*\(\): (self \((?P<a>\w+)\) and source \((?P<b>\w+)\) "
           r"must have the same scalar type|Expected self\.dtype to be equal to src\.dtype)",
           "`{call}` adds values of another type", "`source.to(x.dtype)`", look=_types),
    Family("float-into-integer", r"result type (?P<a>\w+) can't be cast to the desired output type (?P<b>\w+)",
           "the result is float, and is to be written into a tensor of integers", "make it float first: `x = "
           "x.float()`", look=_written),
    Family("mean-of-integers", r"mean\(\): could not infer output dtype\..*Got: (?P<type>\w+)",
           "integers have no mean of their type", "make them float first: `x.float().mean()`",
           look=lambda seen: _mean(seen), fact="the values are {type}"),
    Family("statistic-of-integers", r"std and var only support floating point|(?P<call>[\w.]+): Expected a floating "
           r"point or complex tensor as input\. Got (?P<type>\w+)|(?P<q>quantile|median)\(\) input tensor must be "
           r"either float", "a statistic of integers", "make them float first: `x.float()`", look=_integers),
    Family("draw-into-integers", r"(?P<what>\w+) distribution is a continuous probability distribution\. dtype must "
           r"be a floating point but you specified (?P<type>\w+)", "random floats are drawn into a tensor of integers",
           "give it floats: `x.float()`", look=_integers),
    Family("mask-is-no-bool", r"masked_fill_? only supports boolean masks, but got mask with dtype (?P<type>[\w "
           r"]+)|masked_select: expected BoolTensor for mask|where expected condition to be a boolean tensor, but got "
           r"a tensor with dtype (?P<other>\w+)", "a mask is no tensor of bools", "`mask.bool()`, or a comparison: "
           "`mask == 0`", look=_mask),
    Family("fill-value-is-no-number", r"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
           r"(?P<n>\d+) dim", "`masked_fill` fills with one number", "for values a place: `torch.where(mask, values, "
           "x)`", fact="a tensor with {n} dimensions was given"),
    Family("bool-arithmetic", r"(Subtraction|Negation), the `-` operator, .*bool tensor", "bools are subtracted or "
           "negated", "the opposite of a mask is `~mask`; the difference of two, `a ^ b`; numbers, `mask.float()`"),
    Family("invert-floats", r"~ \(operator\.invert\) is only implemented on integer and Boolean", "`~` of floats",
           "make a mask first: `~(x > 0)`, `~x.bool()`", look=lambda seen: _floats(seen)),
    Family("bits-of-floats", r"\"(?P<what>bitwise_\w+|lshift|rshift)_\w+\" not implemented for '(?P<type>\w+)'",
           "`&`, `|` and `^` join bits or masks, not floats", "compare first, in parentheses: `(a > 0) & (b > 0)`",
           look=lambda seen: _floats(seen)),
    Family("complex-compared", r"\"\w+\" not implemented for 'Complex(?P<type>\w+)'|not supported for complex",
           "complex numbers have no order, and most losses do not know them", "take `.abs()`, `.real`, or "
           "`torch.view_as_real(x)`"),
    Family("type-without-kernel", r"\"(?P<what>\w+)\" not implemented for '(?P<type>\w+)'",
           "the operation is not there for this type", "compute in float32, `x.float()`, and convert back",
           fact="`{what}` knows no {type}", look=lambda seen: _kernel(seen)),
    Family("default-type", r"only floating-point types are supported as the default type", "the default type must be "
           "a float", "`torch.set_default_dtype(torch.float32)`"),
    Family("model-of-integers", r"nn\.Module\.to only accepts floating point or complex dtypes, but got desired "
           r"dtype=(?P<type>\S+)", "a model cannot be turned into integers", "to a smaller type: `.half()`, "
           "`.bfloat16()`; integers need quantisation", fact="{type} was asked for"),
)


def _mean(seen: Seen) -> Said | None:
    told = _integers(seen)
    return told and told._replace(mend=f"{told.mend[:-1]}.mean()`; for a mask that is the share of True")


def _floats(seen: Seen) -> Said | None:
    found = [one for one in seen.tensors() if one.value.is_floating_point()]
    if not found:
        return None
    return Said(
        (", ".join(f"`{one.name}` is {dtype(one.value)}" for one in found),), found[0] if len(found) == 1 else None
    )


def _kernel(seen: Seen) -> Said | None:
    wanted = {
        "Half": torch.float16,
        "BFloat16": torch.bfloat16,
        "Long": torch.int64,
        "Int": torch.int32,
        "Bool": torch.bool,
    }
    one = seen.only(lambda value: value.dtype is wanted.get(seen.match["type"]))
    if one is None:
        return None
    return Said(
        (f"`{one.name}` is {dtype(one.value)}: `{seen.match['what']}` knows no such type",),
        one,
        f"compute in float32, `{one.name}.float()`, and convert back",
    )
