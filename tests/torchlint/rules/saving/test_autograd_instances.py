"""941, 942: instances of autograd functions that are called, or made."""

import warnings

import pytest
import torch

from tests.torchlint.dryrun.support import holds, table

SIGN = """
from torch.autograd import Function

class Sign({base}):
    {static}
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    {static}
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return grad_output * (x.abs() < 1)
{more}
"""


def sign(used, more="", base="Function", static="@staticmethod"):
    return SIGN.format(base=base, static=static, more=more) + used


BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.sign = Sign(){made}

    def forward(self, x):
        return {called}
"""
OWN_CALL = "\n    def __call__(self, x):\n        return x.sign()"
OWN_INIT = "\n    def __init__(self, scale):\n        self.scale = scale"
BASE_INIT = "\n    def __init__(self, scale):\n        super().__init__()\n        self.scale = scale"


@table({
    "called where it is made": sign("def run(x):\n    return Sign()(x)  # <- 941"),
    "called by its name": sign("def run(x):\n    binary = Sign()\n    return binary(x)  # <- 941"),
    "of the old kind": sign("def run(x):\n    return Sign()(x)  # <- 941", static=""),
    "kept by a module": sign(BLOCK.format(made="", called="self.sign(x)  # <- 941")),
    "made for its apply": sign("def run(x):\n    return Sign().apply(x)  # <- 942"),
    "made, its forward is called": sign("def run(x):\n    return Sign().forward(x)  # <- 942", static=""),
    "kept for its apply": sign(BLOCK.format(made="  # <- 942", called="self.sign.apply(x)")),
    "an __init__ that comes to torch's": sign("def run(x):\n    return Sign(2).apply(x)  # <- 942", more=BASE_INIT),
    "an __init__ of its own": sign("def run(x):\n    return Sign(2).apply(x)", more=OWN_INIT),
    "a __call__ of its own": sign("def run(x):\n    return Sign()(x)  # <- 942", more=OWN_CALL),
    "the class is asked": sign("def run(x):\n    return Sign.apply(x)"),
    "a module of that name": sign("def run(x):\n    return Sign()(x)", base="nn.Module"),
    "another thing under the name": sign("def run(x):\n    binary = Sign()  # <- 942\n    binary = torch.sign\n    return binary(x)"),
    "for torch of old": sign("def run(x):\n    if torch.__version__ < '1.5':\n        return Sign()(x)\n    return Sign.apply(x)"),
    "expected to raise": sign("import pytest\n\ndef test_it(x):\n    with pytest.raises(RuntimeError):\n        Sign()(x)"),
})
def test_instances(code):
    holds(code)


def test_torch_says_so():
    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sign()

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = Sign()
    assert any("should not be instantiated" in str(warning.message) for warning in told)
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        made(torch.ones(2))
