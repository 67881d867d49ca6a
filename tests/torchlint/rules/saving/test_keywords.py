"""943: keywords that torch does not take, and all that may stand under a name of torch without being it."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, RULES, found, holds, table
from torchlint.engine import Engine


@table({
    "a class by another name": """
from torch.nn import LSTM as Recurrent

def build():
    LSTM = Recurrent
    return LSTM(8, 8, batchfirst=True)  # <- 943
""",
    "what a method gives is a tensor": """
def f(a):
    x = torch.zeros(2, 2).exp()
    return x.sum(dims=1), torch.flatten(input=x, start_dim=0)  # <- 943
""",
    "the loss of a model": """
def f(net, crit, x, y):
    loss = crit(net(x), y)
    loss.backward(retain_variables=True)  # <- 943
""",
    "one of several classes": """
def f(flag, n):
    conv = nn.Conv2d if flag else nn.Conv1d
    return conv(1, n, 3, biases=False)
""",
    "a class that is asked for first": """
def pool(layer, n):
    if issubclass(layer, nn.AvgPool2d):
        return layer(2)
    return layer(channels=n, stride=2)

def other(layer, n):
    if layer == nn.MaxPool2d:
        return layer(2)
    else:
        return layer(channels=n, stride=2)

def norm(layer, n):
    return layer(n) if layer is not nn.GroupNorm else layer(num_groups=4, num_channels=n)

def build():
    nn.Conv2d(1, 2, 3, biases=False)  # <- 943
    pool(nn.AvgPool2d, 3), other(nn.MaxPool2d, 3), norm(nn.GroupNorm, 8)
""",
    "one of several classes that are asked for first": """
def pool(layer, n):
    if not issubclass(layer, (nn.AvgPool2d, nn.MaxPool2d)):
        return layer(channels=n, stride=2)
    return layer(2)

def build(blur, flag):
    nn.Conv2d(1, 2, 3, biases=False)  # <- 943
    pool(nn.AvgPool2d if flag else blur, 3)
    pool(nn.AvgPool2d if flag else nn.MaxPool2d, 3)
""",
    "a class that is not the one asked for": """
def pool(layer, n):
    if layer is not nn.MaxPool2d:
        return layer(2, sizes=n)  # <- 943
    return layer(2)

def build():
    nn.Conv2d(1, 2, 3, biases=False)  # <- 943
    pool(nn.AvgPool2d, 3)
""",
    "a class of the project": """
class Linear(nn.Module):
    def __init__(self, a, b, gain=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(a, b) * gain)

layer = Linear(2, 3, gain=2.0)
""",
    "a function in the place of torch's": """
def randn(*size, seed=0):
    return torch.randn(*size)

noise = randn(2, 2, seed=1)
torch.randn = randn
""",
    "keywords that come out of a dict": """
def f(options):
    known = {"biases": True}
    return nn.Linear(1, 2, **known), nn.Linear(1, 2, **options)
""",
    "code that is ready for it": """
def f(a, b):
    try:
        return torch.meshgrid(a, b, sparse=True)
    except TypeError:
        return torch.meshgrid(a, b)
""",
    "code that is ready for something else": """
def f(a, b):
    try:
        return torch.meshgrid(a, b, sparse=True)  # <- 943
    finally:
        print("done")
""",
    "of a partial, where it is written": """
from functools import partial

def f():
    make = partial(nn.Linear, biases=False)
    return make(1, 2)
""",
    "numpy": """
import numpy as np

def f(x):
    return np.zeros(shape=3), torch.from_numpy(np.sum(x, axis=0, initial=0))
""",
    "another backward": """
class Engine:
    def backward(self, loss, retain_variables=False):
        loss.backward()

def f(engine, net, x):
    Engine().backward(net(x), retain_variables=True)
    engine.backward(net(x), retain_variables=True)
""",
})
def test_keywords(code):
    holds(code)


@pytest.mark.parametrize(("release", "told"), [(None, True), ((2, 4), False), ((2, 13), True)])
def test_what_went_counts_by_release(release, told):
    text = IMPORTS + "def f(opt):\n    return torch.optim.lr_scheduler.StepLR(opt, 5, verbose=True)\n"
    assert [number for _, number in found(text, judge=Engine(RULES, torch_version=release))] == ([943] if told else [])


@pytest.mark.parametrize("line", ["if torch.__version__ < '2':", "if OLD_TORCH:"])
def test_what_went_under_a_condition(line):
    text = f"def f(opt, flag):\n    {line}\n        return torch.optim.lr_scheduler.StepLR(opt, 5, verbose=True)\n"
    assert found(IMPORTS + text) == []
    assert [number for _, number in found(IMPORTS + text.replace("verbose", "verbos"))] == [943]
