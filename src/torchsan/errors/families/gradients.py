"""Backward and what it needs: scalars, leaves, graphs, values that nobody changed."""

from __future__ import annotations

import ast

from torchsan.errors.carried import carried_over
from torchsan.errors.family import Family, Said, Seen, dtype, shape
from torchsan.errors.operands import Frame, expression, look_up
from torchsan.own import torch
from torchsan.program.where import _USER


def _again(seen: Seen) -> Said | None:
    """A graph that is used up: what carries it over from the pass of the loop before."""
    found = carried_over(seen.way)
    if found is None:
        return None
    return Said((found.fact,), None, found.mend, found.what)


def _many(seen: Seen) -> Said | None:
    """Backward of a tensor of several values."""
    outs = seen.given("outputs")
    if not isinstance(outs, (tuple, list)) or not outs or not isinstance(outs[0], torch.Tensor):
        return None
    value = seen.operand(outs[0])
    if value is None:
        return Said((f"it is {shape(outs[0])}",))
    if value.value.numel() == 1:
        return None
    name = value.name
    return Said(
        (f"`{name}` is {shape(value.value)}",),
        value,
        f'`{name}.mean().backward()`; a loss made with `reduction="none"` has to be reduced by hand',
    )


def _integer_leaf(seen: Seen) -> Said | None:
    one = seen.only(lambda value: not value.is_floating_point() and not value.is_complex())
    if one is None:
        return None
    return Said(
        (f"`{one.name}` is {dtype(one.value)}",), one, f"`{one.name}.float().requires_grad_()`; write `1.0` and not `1`"
    )


def _without(way: list[Frame]) -> tuple[str, torch.Tensor] | None:
    """A leaf on the user's line whose `.grad`, which the line asks for, is None, and its name."""
    node = expression(way[-1]) if way and way[-1].kind == _USER else None
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            value = look_up(way[-1].frame, part.value)
            if isinstance(value, torch.Tensor) and value.is_leaf and value.grad is None:
                return ast.unparse(part.value), value
    return None


def _no_gradient(seen: Seen) -> Said | None:
    found = _without(seen.way)
    if found is None:
        return None
    name, value = found
    if not value.requires_grad:
        return Said((f"`{name}` records no gradient",), None, f"`{name}.requires_grad_()` before it is used")
    return Said(
        (f"no backward has reached `{name}`, or its gradient was cleared since: `zero_grad()` sets it to None",), None,
        f"call `backward()` before this line; what takes no part in the loss is passed by: `if {name}.grad is not None`",
    )


FAMILIES = (
    Family("gradient-is-none", r"'NoneType'", "a gradient is used, and there is none: `.grad` is None", "call `backward()` "
           "before it, and pass by what takes no part in the loss", look=_no_gradient, kinds=(AttributeError, TypeError),
           fits=lambda way: _without(way) is not None),
    Family("", r"Trying to backward through the graph a second time", number=107, look=_again),
    Family("", r"element 0 of tensors does not require grad and does not have a grad_fn", number=108),
    Family("", r"a (view of a )?leaf Variable that requires grad is being used in an in-place operation", number=114),
    Family("", r"one of the variables needed for gradient computation has been modified by an inplace operation(: "
           r"\[\S+ \[(?P<shape>[\d, ]*)\]\])?", number=115, fact="a tensor of shape [{shape}]"),
    Family("", r"Inference tensors cannot be saved for backward", number=205),
    Family("", r"more than one element of the written-to tensor refers to a single memory location", number=414),
    Family("", r"Can't call numpy\(\) on Tensor that requires grad", number=416),
    Family("backward-of-many-values", r"grad can be implicitly created only for scalar outputs",
           "backward starts from one number", "reduce it first: `loss.mean().backward()`", look=_many),
    Family("gradient-of-other-shape", r"Mismatch in shape: grad_output\[(?P<at>\d+)\] has a shape of "
           r"torch\.Size\((?P<a>.*?)\) and output\[\d+\] has a shape of torch\.Size\((?P<b>.*?)\)",
           "the gradient given to backward has another shape than the output", "give one value for each of the "
           "output's: `torch.ones_like(output)`", fact="the output is {b}, the gradient {a}"),
    Family("gradient-of-a-constant", r"One of the differentiated Tensors does not require grad",
           "a gradient is asked for of something that records none", "`x.requires_grad_()` before it is used",
           look=lambda seen: _constant(seen)),
    Family("gradient-of-the-unused", r"The differentiated Tensor at index (?P<at>\d+) appears to not have been used "
           r"in the graph|One of the differentiated Tensors appears to not have been used in the graph",
           "the output was not computed from what its gradient is asked of", "compute it from that very tensor: a "
           "copy, a view or a second call of the model is another one; or `allow_unused=True`"),
    Family("retain-grad-of-a-constant", r"can't retain_grad on Tensor that has requires_grad=False",
           "`retain_grad` of a tensor without a graph", "`requires_grad_()` first, or look for `no_grad` and `detach` "
           "above it"),
    Family("gradient-of-integers", r"[Oo]nly Tensors of floating point (and complex )?dtype can require gradients",
           "integers have no gradient", "make them float first: `x.float().requires_grad_()`", look=_integer_leaf),
    Family("freeze-a-result", r"you can only change requires_grad flags of leaf variables",
           "`requires_grad` of a result cannot be changed", "cut it with `.detach()`; to freeze a layer, set it on "
           "its parameters: `layer.requires_grad_(False)`"),
    Family("data-of-integers", r"data set to a tensor that requires gradients must be floating point",
           "a parameter is given integers", "`.float()` the values first"),
    Family("other-gradient-size", r"attempting to assign a gradient of size '(?P<a>.*?)' to a tensor of size "
           r"'(?P<b>.*?)'", "a gradient of another shape is put on a tensor", "give it the tensor's shape: look for a "
           "missing `sum` over the batch", fact="the gradient is {a}, the tensor {b}"),
    Family("other-gradient-type", r"attempting to assign a gradient with dtype '(?P<a>\w+)' to a tensor with "
           r"grad_dtype '(?P<b>\w+)'", "a gradient of another type is put on a tensor", "`grad.to(parameter.dtype)`",
           fact="the gradient is {a}, the tensor takes {b}"),
    Family("in-place-on-parts", r"Output (?P<at>\d+) of (?P<node>\w+) is a view and is being modified "
           r"inplace\..*returns multiple views", "a part of what `unbind`, `split` or `chunk` gave is changed in place",
           "write `x = x + y`, or `.clone()` the part first"),
    Family("in-place-on-a-view", r"(is a view and (its base or another view of its base has been modified|is being "
           r"modified) in-?place|A view was created in (no_grad|inference) mode)", "a view is changed in place where "
           "autograd cannot follow", "`.clone()` before the change, or write `x = x + y`"),
    Family("deepcopy-of-a-result", r"Only Tensors created explicitly by the user .*support the deepcopy protocol",
           "a tensor with a graph is copied with `deepcopy`", "`.detach().clone()`; look for an output or a loss that "
           "is kept on the module"),
    Family("inference-requires-grad", r"Setting requires_grad=True on inference tensor outside InferenceMode",
           "a tensor made under inference_mode is to get gradients", "`.clone()` it first, or use `torch.no_grad()` "
           "there"),
    Family("inference-in-place", r"Inplace update to inference tensor outside InferenceMode",
           "a tensor made under inference_mode is changed outside of it", "`.clone()` it first, or use "
           "`torch.no_grad()` there"),
    Family("overlap-in-place", r"some elements of the input tensor and the written-to tensor refer to a single memory "
           r"location", "an operation writes to the memory that it reads", "`.clone()` what it reads"),
    Family("double-backward", r"derivative for (?P<what>\S+) is not implemented", "this operation has no gradient",
           "keep it out of the graph, `.detach()` its input, or use another operation", fact="`{what}`"),
    Family("checkpoint-changed", r"torch\.utils\.checkpoint: (A different number of tensors was saved|Recomputed "
           r"values for the following tensors have different metadata)", "run again in backward, a checkpointed part "
           "computed something else", "it must do the same twice: no counters, caches or random choices of Python's "
           "in it; under autocast, the same autocast"),
)


def _constant(seen: Seen) -> Said | None:
    one = seen.only(lambda value: not value.requires_grad)
    return (
        None
        if one is None
        else Said((f"`{one.name}` records no gradient",), one, f"`{one.name}.requires_grad_()` before it is used")
    )
