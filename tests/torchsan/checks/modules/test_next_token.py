"""520, 003, 312 of a language model written by hand: no mask, no shift, softmax over the heads; and those that are right."""

from __future__ import annotations

import pytest

GPT = """
import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.register_buffer("mask", torch.tril(torch.ones(64, 64)).bool())

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
{attend}
        return self.out(y.transpose(1, 2).reshape(batch, time, width))


class GPT(nn.Module):
    def __init__(self, words=40, width=32, heads=2):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.head = nn.Linear(width, words)

    def forward(self, ids):
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
{shift}
        return self.head(x + self.attention(self.norm(x)))


def get_batch(data, size=6, length=12):
    starts = torch.randint(0, len(data) - length - 1, (size,))
    x = torch.stack([data[start:start + length] for start in starts])
    y = torch.stack([data[start + {offset}:start + {offset} + length] for start in starts])
    return x, y


data = torch.randint(0, 40, (500,))
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(6):
    x, y = get_batch(data)
    logits = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()){mark}
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
"""
BY_HAND = """        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        {masked}
        y = {softmax} @ v"""
MASKED = "scores = scores.masked_fill(~self.mask[:time, :time], float('-inf'))"
CAUSAL = BY_HAND.format(masked=MASKED, softmax="F.softmax(scores, dim=-1)")
OPEN = BY_HAND.format(masked="pass", softmax="F.softmax(scores, dim=-1)")
FUSED = "        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)"


def program(attend=CAUSAL, shift="", offset=1, mark=""):
    return GPT.format(attend=attend, shift=shift, offset=offset, mark=mark)


@pytest.mark.parametrize("attend", [
    OPEN.replace("@ v", "@ v  # <- 520"),
    FUSED.replace(", is_causal=True)", ")  # <- 520"),
    FUSED.replace("is_causal=True)", "attn_mask=torch.ones(batch, 1, 1, time).bool())  # <- 520"),
])
def test_no_causal_mask(run, attend):
    ran = run(program(attend))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("attend", [CAUSAL, FUSED])
def test_the_target_is_the_input(run, attend):
    ran = run(program(attend, offset=0, mark="  # <- 003"))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize("parts", [
    {},
    {"attend": FUSED},
    {"attend": FUSED.replace("is_causal=True", "attn_mask=torch.zeros(time, time).masked_fill(~self.mask[:time, :time], -1e9)")},
    {"shift": "        x = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1)", "offset": 0},  # shifts itself
    {"attend": OPEN, "offset": 0},  # an autoencoder
    {"attend": OPEN, "offset": 2},
])
def test_sound(run, parts):
    ran = run(program(**parts))
    assert ran.codes == [], ran.san.report()


@pytest.mark.parametrize("dim", ["1", "-3"])
def test_softmax_over_the_heads(run, dim):
    ran = run(program(BY_HAND.format(masked=MASKED.replace("float('-inf')", "-1e9"), softmax=f"F.softmax(scores, dim={dim})")))
    assert [one.number for one in ran.findings] == [312], ran.san.report()
    assert "over the heads" in ran.findings[0].message and ran.findings[0].location.row == 20


def test_softmax_over_the_batch_of_its_scores(run):
    text = program(BY_HAND.format(masked="pass", softmax="scores.softmax(0)"), offset=2)
    ran = run(text)
    assert [one.number for one in ran.findings] == [312], ran.san.report()


LSTM = """
import torch
import torch.nn.functional as F
from torch import nn


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.rnn = nn.Embedding(20, 16), nn.{rnn}
        self.head = nn.LazyLinear(20)

    def forward(self, x):
        return self.head(self.rnn(self.embedding(x))[0])


model = CharModel()
model(torch.zeros(1, 8, dtype=torch.long))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(6):
    chunk = torch.randint(0, 20, (5, 9))
    x, y = chunk[:, :-1], chunk[:, {start}]
    loss = F.cross_entropy(model(x).transpose(1, 2), y){mark}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


LAYERS = """
import torch
import torch.nn.functional as F
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(16, 20)

    def forward(self, x):
        mask = {mask}
        return self.head(self.layers(self.embedding(x), mask=mask, is_causal=mask is not None))  # <- 520


model = Decoder()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(5):
    tokens = torch.randint(0, 20, (5, 9))
    loss = F.cross_entropy(model(tokens[:, :-1]).transpose(1, 2), tokens[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_layers_of_torch(run):
    ran = run(LAYERS.format(mask="None"))
    assert ran.lines == ran.marked, ran.san.report()
    assert run(LAYERS.format(mask="nn.Transformer.generate_square_subsequent_mask(x.shape[1])")).codes == []


@pytest.mark.parametrize(("rnn", "start", "mark"), [
    ("LSTM(16, 16, batch_first=True)", ":-1", "  # <- 003"),
    ("GRU(16, 16, batch_first=True)", ":-1", "  # <- 003"),
    ("LSTM(16, 16, batch_first=True)", "1:", ""),
    ("LSTM(16, 16, batch_first=True, bidirectional=True)", ":-1", ""),
])
def test_recurrent(run, rnn, start, mark):
    ran = run(LSTM.format(rnn=rnn, start=start, mark=mark))
    assert ran.lines == ran.marked, ran.san.report()


BATCH = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.head = nn.Linear(6, 16), nn.Linear(16, 3)
        self.gate = nn.Linear(16, 5)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return {output}


loader = DataLoader(TensorDataset(torch.randn(64, 6), torch.randint(0, 3, (64,))), batch_size=8, shuffle=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.nll_loss(torch.log(model(x) + 1e-6), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_softmax_over_the_samples(run):
    ran = run(BATCH.format(output="torch.softmax(self.head(x), dim=0)  # <- 312"))
    assert ran.marked <= ran.lines, ran.san.report()


@pytest.mark.parametrize("output", [
    "torch.softmax(self.head(x), dim=1)",
    "torch.softmax(self.head(x), dim=-1) * torch.softmax(self.gate(x).t(), dim=0).sum(0).unsqueeze(1)",
    "torch.sigmoid(torch.softmax(x @ x.t(), dim=0) @ self.head(x))",
])
def test_other_softmaxes(run, output):
    assert "TS312" not in run(BATCH.format(output=output)).codes


POOLED = """
import torch
import torch.nn.functional as F
from torch import nn


class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.weigh, self.out = nn.GRU(5, 16, batch_first={first}), nn.Linear(16, 1), nn.Linear(16, {wide})

    def forward(self, x):
        states = self.steps(x)[0]
        weights = self.weigh(states).softmax({over})  # <- 312
        return self.out({pooled})


model = Pooled()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    x = torch.randn({size})
    loss = F.cross_entropy(model(x), torch.randint(0, 2, ({labels},)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_softmax_over_the_samples_where_there_is_no_loader(run):
    ran = run(POOLED.format(first=True, over=0, pooled="(weights * states).sum(1)", size="8, 7, 5", labels=8, wide=2))
    assert ran.lines == ran.marked, ran.san.report()


@pytest.mark.parametrize(("first", "over", "pooled", "size", "labels"), [
    (True, 1, "(weights * states).sum(1)", "8, 7, 5", 8),
    (False, 0, "(weights * states).sum(0)", "7, 8, 5", 8),  # steps first
    (True, 0, "weights * states", "7, 5", 7),  # one sequence, a class for each step
])
def test_softmax_over_steps_where_there_is_no_loader(run, first, over, pooled, size, labels):
    ran = run(POOLED.format(first=first, over=over, pooled=pooled, size=size, labels=labels, wide=2))
    assert "TS312" not in ran.codes and ran.error is None, ran.error


@pytest.mark.parametrize(("attend", "offset", "number"), [(OPEN, 1, 520), (CAUSAL, 0, 3), (CAUSAL, 1, None)])
def test_behind_a_prompt_that_is_left_out(run, attend, offset, number):
    text = program(attend, offset=offset)
    at = text.index("    loss = ")
    ran = run(text[:at] + "    y = y.masked_fill(torch.arange(y.shape[1]) < 3, -100)\n" + text[at:])
    assert [one.number for one in ran.findings] == ([number] if number else []), ran.san.report()
