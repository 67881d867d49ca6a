"""A user's module that took a function's name before any watch started."""

import torch
from torch import nn
from torch.nn.functional import cross_entropy as ce


def train():
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    ce(model(torch.randn(5, 4)), torch.zeros(5, dtype=torch.long)).backward()
