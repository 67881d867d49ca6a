"""The quick walks through a model come to what torch's own come to, in the same order."""

import torch
from torch import nn

from torchsan.program.walks import named_parts, parameters_of, parts_of


def shared():
    inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    model = nn.ModuleDict({"a": inner, "b": nn.ModuleList([inner, nn.Linear(2, 2), inner[0]]), "c": nn.LSTM(2, 2)})
    model.b[1].weight = inner[0].weight
    model.register_module("none", None)
    model.a.register_parameter("none", None)
    return model


def in_a_ring():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
    model[1].add_module("back", model)
    return model


def same(model):
    assert [*map(id, parts_of(model))] == [*map(id, model.modules())]
    assert [(name, id(part)) for name, part in named_parts(model)] == [(name, id(part)) for name, part in model.named_modules()]
    assert [*map(id, parameters_of(model))] == [*map(id, model.parameters())]


def test_same_as_torchs():
    for model in (shared(), in_a_ring(), nn.Linear(2, 2), nn.Sequential(), nn.Transformer(8, 2, 2, 2)):
        same(model)


def test_a_scripted_model():
    scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2))))
    assert [part.original_name for part in parts_of(scripted)] == [part.original_name for part in scripted.modules()]
    assert [name for name, _ in named_parts(scripted)] == [name for name, _ in scripted.named_modules()]
    assert [tuple(p.shape) for p in parameters_of(scripted)] == [tuple(p.shape) for p in scripted.parameters()]
