"""A model that is saved whole while it is watched is saved as it would be without; so is what other processes get."""

from __future__ import annotations

import copy
import io
import pickle

import torch
from torch import nn

import torchsan
from torchsan.probes import modules


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_forward_hook(shout)
        self.register_forward_pre_hook(whisper, with_kwargs=True)

    def forward(self, x):
        return self.layer(x)


def shout(module, args, output):
    return output * 2


def whisper(module, args, kwargs):
    return None


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    return file.getvalue()


def test_a_saved_model_is_the_same_file():
    torch.manual_seed(0)
    model = Net()
    bare, pickled = saved(model), pickle.dumps(model)
    with torchsan.watch(model):
        model(torch.ones(1, 3))
        assert modules.count() and len(model._forward_hooks) == 2
        assert saved(model) == bare
        # Hooks of ours take numbers of which those that the model is given later know nothing.
        assert b"torchsan.probes" not in pickle.dumps(model) and len(pickle.dumps(model)) == len(pickled)
        again = pickle.loads(pickle.dumps(model))
    assert not again._forward_hooks_always_called
    assert list(again._forward_hooks.values()) == [shout] and len(again._forward_pre_hooks_with_kwargs) == 1
    assert torch.equal(again(torch.ones(1, 3)), model(torch.ones(1, 3)))
    assert not hasattr(nn.Module.__getstate__, "__wrapped__")


def test_it_loads_where_only_known_names_are_allowed():
    with torchsan.watch():
        model = nn.Sequential(nn.Linear(3, 2))
        model(torch.ones(1, 3))
        file = io.BytesIO(saved(model))
        with torch.serialization.safe_globals([nn.Sequential, nn.Linear]):
            again = torch.load(file, weights_only=True)
    assert not again._forward_hooks


def test_a_copy_is_watched():
    model = Net()
    with torchsan.watch(model):
        teacher = copy.deepcopy(model)
        assert len(teacher._forward_hooks) == 2
    assert len(teacher._forward_hooks) == 1
