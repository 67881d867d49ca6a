"""Checks that have to be asked for: silent by default, found where they are selected."""

from __future__ import annotations

import pytest

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
x = torch.randn(16, 4)
"""
LOOP = """
for _ in range(3):
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad({})
"""
AMP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for _ in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.{}):
        loss = model(x).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
ADAM = "optimizer = torch.optim.{}(model.parameters(), lr=0.01{})\n"
PROGRAMS = {
    "adam decays": (ADAM.format("Adam", ", weight_decay=0.1") + LOOP.format(""), {(124, 7), (125, 7)}),
    "adam decays by itself": (
        ADAM.format("Adam", ", weight_decay=0.1, decoupled_weight_decay=True") + LOOP.format(""), {(125, 7)},
    ),
    "adam without": (ADAM.format("Adam", "") + LOOP.format(""), set()),
    "matrices decay": (
        "optimizer = torch.optim.AdamW([p for p in model.parameters() if p.dim() > 1], lr=0.01)\n" + LOOP.format(""),
        set(),
    ),
    "zeros": (ADAM.format("SGD", "") + LOOP.format("set_to_none=False"), {(133, 13)}),
    "bfloat16 scaled": (AMP.format("bfloat16"), {(706, 14)}),
    "float16 scaled": (AMP.format("float16"), set()),
}


BCE = LOOP.replace("loss = model(x).square().mean()", "loss = {}")
LOSSES = {
    "sigmoid, and then BCE": ("nn.functional.binary_cross_entropy(model(x).sigmoid(), torch.ones(16, 2))", {(304, 10)}),
    "both in one": ("nn.functional.binary_cross_entropy_with_logits(model(x), torch.ones(16, 2))", set()),
}
WORDS = """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(50, 16{embedding}), nn.Linear(16, {classes}))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    words = torch.randint(1, 50, (8, 21))
    words[:, {length}:] = 0
    optimizer.zero_grad()
    scores, target = model(words[:, :-1]), words[:, 1:]
    loss = {loss}
    loss.backward()
    optimizer.step()
"""
FLAT = "F.cross_entropy(scores.flatten(0, 1), target.flatten(){})"
PADDED = {"embedding": ", padding_idx=0", "classes": 50, "length": 6, "loss": FLAT.format("")}
PADDING = {
    "most is padding": ({}, {(315, 13)}),
    "in maps": ({"loss": "nn.CrossEntropyLoss()(scores.transpose(1, 2), target)"}, {(315, 13)}),
    "as log-probabilities": (
        {"loss": "nn.NLLLoss()(scores.log_softmax(-1).flatten(0, 1), target.flatten())"}, {(315, 13)},
    ),
    "less than half": ({"length": 13}, set()),
    "ignored": ({"loss": FLAT.format(", ignore_index=0")}, set()),
    "ignored by position": ({"loss": FLAT.format(", None, None, 0")}, set()),
    "weighted": ({"loss": FLAT.format(", weight=(torch.arange(50) > 0).float()")}, set()),
    "masked": (
        {"loss": "(F.cross_entropy(scores.flatten(0, 1), target.flatten(), reduction='none')"
                 " * (target.flatten() > 0)).mean()"}, set(),
    ),
    "no padding in the model": ({"embedding": ""}, set()),
    "other classes": ({"classes": 60}, set()),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(run, name):
    loss, expected = LOSSES[name]
    ran = run(HEAD + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n" + BCE.format(loss, ""), select="TS304")
    assert ran.error is None
    assert ran.lines == expected, ran.san.report()
    assert not run(HEAD + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n" + BCE.format(loss, "")).findings


@pytest.mark.parametrize("name", PADDING)
def test_padding(run, name):
    changed, expected = PADDING[name]
    text = WORDS.format(**{**PADDED, **changed})
    ran = run(text)
    assert ran.error is None
    assert ran.lines == expected, ran.san.report()


def test_the_share_of_padding(run):
    [finding] = run(WORDS.format(**PADDED), select="TS315").findings
    assert finding.message == (
        "`cross_entropy` counts the targets that are padding: the model's embedding has 0 as its `padding_idx` "
        "(75% of 640 targets are 0)"
    )
    assert finding.help == "give the loss `ignore_index=0`"


LOADED = HEAD + "state = {{**model.state_dict(), {}}}\n{}model.load_state_dict(state, strict={})\n"


@pytest.mark.parametrize("changed, kept, strict, expected", [
    ("'head.weight': x", "", False, {(907, 8)}),
    ("'head.weight': x", "result = ", False, set()),
    ("", "", False, set()),
    ("", "", True, set()),
])
def test_a_load_that_does_not_fit(run, changed, kept, strict, expected):
    text = LOADED.format(changed, kept, strict)
    ran = run(text, select="TS907")
    assert ran.error is None
    assert ran.lines == expected, ran.san.report()
    if expected:
        assert "1 (head.weight) of the state fit none" in ran.findings[0].message
    assert not run(text).findings


SPREAD = HEAD + """
spread = nn.DataParallel(model)
spread.device_ids = list(range({}))
spread.forward = lambda x: model(x)
spread(x)
"""


@pytest.mark.parametrize("devices, expected", [(0, set()), (1, set()), (2, {(810, 8)})])
def test_data_parallel(run, devices, expected):
    ran = run(SPREAD.format(devices), select="TS810")
    assert ran.error is None
    assert ran.lines == expected, ran.san.report()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_asked_for_is_found(run, name):
    text, expected = PROGRAMS[name]
    ran = run(HEAD + text, select="TS124,TS125,TS133,TS706")
    assert ran.error is None
    assert ran.lines == expected, ran.san.report()


@pytest.mark.parametrize("name", ["adam decays", "zeros", "bfloat16 scaled"])
def test_nothing_of_it_is_said_by_default(run, name):
    assert not run(HEAD + PROGRAMS[name][0]).findings
