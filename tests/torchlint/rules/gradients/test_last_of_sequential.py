"""115: what the last layer of a Sequential keeps is changed in place, wherever that Sequential was made."""

import pytest
import torch
from torch import nn

from tests.torchlint.dryrun.support import holds, table

NET = """
class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        {made}

    def forward(self, x):
        {taken}
        {changed}
        return y
"""
LAYERS = "nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU())"


def net(made, taken="y = self.net(x)", changed="y.unsqueeze_(1)  # <- 115"):
    return NET.format(made=made, taken=taken, changed=changed)


@table({
    "by itself": net(f"self.net = {LAYERS}"),
    "added to": net(f"self.net = {LAYERS}", changed="y += 1  # <- 115"),
    "a view of it": net("self.net = nn.Sequential(nn.Conv2d(3, 3, 3), nn.ReLU(), nn.Flatten())", changed="y += 1  # <- 115"),
    "one of a list": net(f"self.nets = nn.ModuleList([{LAYERS}, {LAYERS}])", "for one in self.nets:\n            y = one(x)"),
    "made for each": net(f"self.nets = nn.ModuleList({LAYERS} for _ in range(depth))", "for one in self.nets:\n            y = one(x)"),
    "made in a loop": net(f"self.nets = nn.ModuleList()\n        for _ in range(depth):\n            self.nets.append({LAYERS})",
                          "for one in self.nets:\n            y = one(x)"),
    "another layer behind it": net("self.net = nn.Sequential(nn.ReLU(), nn.Dropout(0.5))", changed="y += 1"),
    "one that keeps its input": net("self.net = nn.Sequential(nn.Conv2d(3, 3, 3), nn.GELU())", changed="y += 1"),
    "a copy": net(f"self.net = {LAYERS}", "y = self.net(x).clone()", changed="y += 1"),
})
def test_last_of_sequential(code):
    holds(code)


@pytest.mark.parametrize("last", [nn.Flatten(), nn.Identity()], ids=repr)
def test_what_torch_does(last):
    y = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), last)(torch.rand(2, 3))
    y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
