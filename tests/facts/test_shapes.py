"""What torchlint takes for the size of a result is what torch gives: layer by layer, operation by operation."""

import numpy as np
import pytest
import torch
from torch import nn

from torchlint.dryrun.roots import runs_of
from torchlint.dryrun.torch_api.shapes import Shape
from torchlint.dryrun.values import Tensor
from torchlint.dryrun.world import World

LAYERS = [
    ("nn.Linear(6, 3)", (4, 6)),
    ("nn.Linear(6, 3)", (2, 4, 6)),
    ("nn.Conv1d(3, 5, 3, stride=2, padding=1)", (2, 3, 11)),
    ("nn.Conv2d(3, 5, 3)", (2, 3, 9, 8)),
    ("nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 0), dilation=2)", (2, 3, 9, 8)),
    ("nn.Conv2d(3, 5, 3, padding='same')", (2, 3, 9, 8)),
    ("nn.Conv2d(3, 5, 3, padding='valid')", (3, 9, 8)),
    ("nn.Conv3d(2, 4, 2)", (1, 2, 5, 6, 7)),
    ("nn.ConvTranspose2d(3, 5, 4, 2, 1)", (2, 3, 9, 8)),
    ("nn.ConvTranspose2d(3, 5, 3, stride=2, padding=1, output_padding=1, dilation=2)", (2, 3, 9, 8)),
    ("nn.MaxPool2d(2)", (2, 3, 9, 8)),
    ("nn.MaxPool2d(3, stride=2, padding=1, dilation=1)", (2, 3, 9, 8)),
    ("nn.AvgPool1d(3, 2)", (2, 3, 9)),
    ("nn.AdaptiveAvgPool2d(1)", (2, 3, 9, 8)),
    ("nn.AdaptiveMaxPool2d((2, 3))", (2, 3, 9, 8)),
    ("nn.BatchNorm2d(3)", (2, 3, 9, 8)),
    ("nn.LayerNorm((3, 4))", (2, 3, 4)),
    ("nn.GroupNorm(2, 4)", (2, 4, 5)),
    ("nn.Flatten()", (2, 3, 4)),
    ("nn.Flatten(0, 1)", (2, 3, 4)),
    ("nn.GELU()", (2, 3)),
    ("nn.TransformerEncoderLayer(6, 2)", (5, 2, 6)),
]
OPERATIONS = [
    ("x.view(-1, 6)", (4, 3, 2)),
    ("x.view(x.size(0), -1)", (4, 3, 2)),
    ("x.reshape(2, 12)", (4, 3, 2)),
    ("x.flatten(1)", (4, 3, 2)),
    ("torch.flatten(x, 1)", (4, 3, 2)),
    ("x.permute(2, 0, 1)", (4, 3, 2)),
    ("x.transpose(-1, -2)", (4, 3, 2)),
    ("x.transpose(0, 2)", (4, 3, 2)),
    ("x.t()", (4, 3)),
    ("x.squeeze(1)", (4, 1)),
    ("x.squeeze(-2)", (4, 3, 1)),
    ("x.squeeze()", (4, 1, 3)),
    ("torch.squeeze(x, 1)", (4, 3)),
    ("x.flatten()", (4, 3)),
    ("x[0]", (4, 3)),
    ("x[None, 1]", (4, 3)),
    ("x.gather(1, torch.zeros(4, 1, dtype=torch.long))", (4, 3)),
    ("torch.zeros_like(x)", (4, 3)),
    ("x.view_as(torch.ones(2, 6))", (4, 3)),
    ("torch.tensor([1.0, 2.0, 3.0])", (1,)),
    ("torch.tensor([[1.0, 2.0], [3.0, 4.0]])", (1,)),
    ("torch.arange(5)", (1,)),
    ("x.unsqueeze(1)", (4, 3)),
    ("x.unsqueeze(-1)", (4, 3)),
    ("x.mean(dim=(-1, -2))", (4, 3, 2)),
    ("x.sum(1, keepdim=True)", (4, 3)),
    ("x.sum(-1)", (4, 3)),
    ("torch.cat([x, torch.zeros(4, 5)], dim=1)", (4, 3)),
    ("torch.cat((x, x), -2)", (4, 3)),
    ("x @ torch.ones(3, 7)", (4, 3)),
    ("torch.matmul(x, torch.ones(3, 7))", (4, 3)),
    ("x + torch.ones(3)", (4, 3)),
    ("x * torch.ones(4, 1)", (4, 3)),
    ("torch.relu(x) * 2 - 1", (4, 3)),
    ("x[:, 1]", (4, 3)),
    ("x[1:3]", (4, 3)),
    ("x[:, -2:]", (4, 3)),
    ("x[::2, None]", (5, 3)),
    ("x[..., 0]", (4, 3, 2)),
    ("x[0, ..., None]", (4, 3, 2)),
    ("x[torch.randperm(4)]", (4, 3)),
    ("x[torch.arange(2)]", (4, 3)),
    ("x.split(2)[0]", (4, 3)),
    ("torch.split(x, 3, dim=1)[0]", (4, 3)),
    ("x.chunk(2, 0)[1]", (4, 3)),
    ("x.unbind(1)[0]", (4, 3)),
    ("x.max(1)[0]", (4, 3)),
    ("x.max(dim=1, keepdim=True)[1]", (4, 3)),
    ("torch.max(x, 1)[0]", (4, 3)),
    ("x.topk(2)[0]", (4, 3)),
    ("x.topk(2, 0)[1]", (4, 3)),
    ("x.sort(0)[0]", (4, 3)),
    ("x.max()", (4, 3)),
    ("x.mean()", (4, 3)),
    ("x.sum(1, True)", (4, 3)),
    ("torch.stack([x, x])", (4, 3)),
    ("torch.stack((x, x, x), dim=-1)", (4, 3)),
    ("x.expand(5, 4, -1)", (4, 3)),
    ("x.repeat(2, 1, 3)", (4, 3)),
    ("torch.Tensor(2, 5)", (1,)),
    ("torch.Tensor([[1, 2], [3, 4], [5, 6]])", (1,)),
    ("torch.FloatTensor([1, 2, 3])", (1,)),
    ("torch.tensor([[[1], [2]]])", (1,)),
    ("torch.tensor(3.0)", (1,)),
    ("torch.nn.Parameter(torch.zeros(2, 7))", (1,)),
    ("torch.from_numpy(np.zeros((2, 3)))", (1,)),
    ("torch.as_tensor(np.random.rand(4, 2))", (1,)),
    ("torch.tensor(np.random.normal(0, 1, (4, 2)))", (1,)),
    ("torch.from_numpy(np.array([[1.0], [2.0]]).astype(np.float32))", (1,)),
    ("torch.tensor(np.linspace(0, 1, 7)).unsqueeze(1)", (1,)),
    ("torch.nn.functional.one_hot(torch.tensor([0, 2]), 5)", (1,)),
    ("x.new_zeros(2, 3)", (1,)),
]
RECURRENT = [
    ("nn.LSTM(6, 3)(x)[0]", (5, 2, 6)),
    ("nn.LSTM(6, 3, 2, bidirectional=True)(x)[0]", (5, 2, 6)),
    ("nn.LSTM(6, 3, proj_size=2, bidirectional=True)(x)[0]", (5, 2, 6)),
    ("nn.LSTM(6, 3, 1, True, True, 0.0, True)(x)[0][:, -1]", (2, 5, 6)),
    ("nn.RNN(6, 3, 1, 'relu', True, True, 0.0, True)(x)[0]", (2, 5, 6)),
    ("nn.GRU(6, 3)(x)[0][-1]", (5, 6)),
    ("nn.GRU(6, 3, 2, bidirectional=True)(x)[1]", (5, 2, 6)),
    ("nn.GRU(6, 3)(x)[1]", (5, 6)),
    ("nn.RNN(6, 3)(x)[1][-1]", (5, 2, 6)),
    ("nn.GRUCell(6, 3)(x)", (2, 6)),
    ("nn.LSTMCell(6, 3)(x)[1]", (2, 6)),
    ("nn.MultiheadAttention(6, 2)(x, x, x)[0]", (5, 2, 6)),
]
CLASHES = [
    "nn.Linear(5, 2)(torch.randn(4, 6))",
    "nn.Conv2d(3, 4, 3)(torch.randn(2, 5, 8, 8))",
    "nn.Conv2d(3, 4, 3)(torch.randn(3, 8))",
    "nn.BatchNorm1d(3)(torch.randn(4, 6))",
    "nn.BatchNorm2d(3)(torch.randn(4, 3, 6))",
    "nn.LayerNorm(5)(torch.randn(4, 6))",
    "nn.GroupNorm(1, 4)(torch.randn(2, 5, 3))",
    "nn.LSTM(5, 2)(torch.randn(4, 1, 6))",
    "nn.ConvTranspose1d(3, 4, 2)(torch.randn(1, 2, 5))",
    "torch.randn(4, 3).view(5, -1)",
    "torch.randn(4, 3).view(5, 2)",
    "torch.cat([torch.randn(4, 3), torch.randn(5, 3)], dim=1)",
    "torch.cat([torch.randn(4, 3), torch.randn(4)])",
    "torch.randn(4, 3) @ torch.randn(4, 3)",
    "torch.randn(4, 3) + torch.randn(4, 2)",
]
HEADS = ["nn.MultiheadAttention(10, 4)", "nn.TransformerEncoderLayer(10, 4)", "nn.Transformer(10, 4)"]


def dry(text):
    """The events and the value of `y` of a dry run of a text."""
    world = World()
    facts = world.add("snippet.py", f"import numpy as np\nimport torch\nfrom torch import nn\n{text}\n")
    run = next(run for run in runs_of(world, facts, frozenset()) if run.root is None)
    return run.graph.events, run.store.get(facts, "y") or run.base_store.get(facts, "y")


def shape_in(text):
    """The sizes of `y` after a dry run of a text."""
    world = World()
    facts = world.add("snippet.py", f"import numpy as np\nimport torch\nfrom torch import nn\n{text}\n")
    run = next(run for run in runs_of(world, facts, frozenset()) if run.root is None)
    return run.noted_shape(run.store.get(facts, "y"))


@pytest.mark.parametrize(("layer", "sizes"), LAYERS)
def test_layers(layer, sizes):
    events, value = dry(f"layer = {layer}\ny = layer(torch.randn({', '.join(map(str, sizes))}))")
    real = eval(layer)(torch.randn(sizes))
    assert isinstance(value, Tensor)
    assert value.traits["shape"] == Shape(tuple(real.shape), False)
    assert not [event for event in events if event.kind == "shape"]


@pytest.mark.parametrize(("operation", "sizes"), OPERATIONS)
def test_operations(operation, sizes):
    text = f"x = torch.randn({', '.join(map(str, sizes))})\ny = {operation}"
    events, _ = dry(text)
    real = eval(operation, {"torch": torch, "np": np, "x": torch.randn(sizes)})
    assert shape_in(text) == Shape(tuple(real.shape), False)
    assert not [event for event in events if event.kind == "shape"]


@pytest.mark.parametrize(("code", "sizes"), RECURRENT)
def test_recurrent_layers(code, sizes):
    found = shape_in(f"x = torch.randn({', '.join(map(str, sizes))})\ny = {code}")
    real = tuple(eval(code, {"nn": nn, "x": torch.randn(sizes)}).shape)
    assert found.rank == len(real) and found.dims[-1] == real[-1]
    assert all(size in (None, there) for size, there in zip(found.dims, real, strict=True))


@pytest.mark.parametrize("code", CLASHES)
def test_what_clashes_raises(code):
    events, _ = dry(f"y = {code}")
    assert [event.kind for event in events if event.kind == "shape"]
    with pytest.raises((RuntimeError, ValueError)):
        eval(code, {"torch": torch, "nn": nn})


@pytest.mark.parametrize("code", HEADS)
def test_heads_that_do_not_divide(code):
    events, _ = dry(f"y = {code}")
    assert [event.kind for event in events if event.kind == "heads"]
    with pytest.raises(AssertionError, match="divisible"):
        eval(code, {"nn": nn})


# 525


def test_dropouts_that_count_dimensions():
    torch.manual_seed(0)
    x = torch.ones(64, 50)
    rows = nn.functional.dropout1d(x, 0.5).ne(0)
    assert set(rows.sum(1).tolist()) == {0, 50}  # whole examples
    with pytest.warns(UserWarning, match="deprecated and will result in an error"):
        values = nn.functional.dropout2d(x, 0.5).ne(0)
    assert 0 < values.sum(1).min() and values.sum(1).max() < 50
    with pytest.warns(UserWarning, match="deprecated and will result in an error"):
        assert set(nn.functional.dropout3d(x, 0.5).ne(0).sum(1).tolist()) == {0, 50}
    with pytest.warns(UserWarning, match=r"interpreted as shape \(N, C, L\)"):
        assert set(nn.functional.dropout2d(torch.ones(4, 30, 5), 0.5).ne(0).sum(2).unique().tolist()) == {0, 5}


def test_instance_norm_takes_rows_for_channels():
    rows = torch.randn(4, 6) * 3 + 1
    with pytest.warns(UserWarning, match="does not match num_features"):
        assert nn.InstanceNorm1d(6)(rows).mean(1).abs().max() < 1e-6
    with pytest.raises(ValueError, match="num_features"):
        nn.InstanceNorm1d(6, affine=True)(rows)


# 510


@pytest.mark.parametrize("layer", [nn.LSTM(6, 4), nn.GRU(6, 4), nn.RNN(6, 4)])
def test_without_batch_first_the_batch_is_run_along(layer):
    x = torch.randn(3, 5, 6)  # meant as three examples of five steps
    changed = x.clone()
    changed[0] += 1
    assert not torch.allclose(layer(x)[0][2], layer(changed)[0][2])  # the third example sees the first
    # and [:, -1] is the last column alone
    assert torch.allclose(layer(x)[0][:, -1], layer(x[:, -1:])[0][:, 0], atol=1e-6)


def test_attention_without_batch_first_mixes_the_batch():
    layer = nn.TransformerEncoderLayer(8, 2, dropout=0.0)
    x = torch.randn(3, 5, 8)
    changed = x.clone()
    changed[0] += torch.randn(5, 8)
    assert not torch.allclose(layer(x)[2], layer(changed)[2])
