"""942: `ctx.saved_variables` in the backward of an autograd function."""

import warnings

import torch

from tests.torchlint.dryrun.support import holds, table

SQUARE = """
from torch.autograd import Function

class Square({base}):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    {decorator}
    def backward(ctx, grad_output):
        {body}
        return 2 * x * grad_output
"""


def square(body, base="Function", decorator="@staticmethod"):
    return SQUARE.format(body=body, base=base, decorator=decorator)


@table({
    "taken apart": square("x, = ctx.saved_variables  # <- 942"),
    "by its place": square("x = ctx.saved_variables[0]  # <- 942"),
    "by its whole name": square("(x,) = ctx.saved_variables  # <- 942", base="torch.autograd.Function"),
    "under a condition": square("x = ctx.saved_variables[0] if ctx.needs_input_grad[0] else None  # <- 942"),
    "the new name": square("x, = ctx.saved_tensors"),
    "a class of another kind": square("x, = ctx.saved_variables", base="Layer"),
    "of something else": square("x = kept['saved_variables']"),
})
def test_saved_variables(code):
    holds(code)


def test_torch_warns_of_it():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_variables
            return 2 * x * grad_output

    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Square.apply(x).sum().backward()
    assert any("saved_tensors" in str(warning.message) for warning in told)
