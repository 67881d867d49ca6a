"""What a message says where one rule has several things to say: each is true of its case alone."""

import re

import pytest

from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine

ENGINE = Engine(tuple(catalogue()))
IMPORTS = "import torch\nfrom torch import nn\n"


def messages(code, text):
    return [finding.message for finding in ENGINE.check("snippet.py", IMPORTS + text).findings if finding.number == code]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("x = nn.Linear(2, 2)\nx = x.load_state_dict(s)", "returns a report on keys, so `x` is no longer a model"),
        ("p = nn.Linear(2, 2).parameters()\nx = torch.optim.SGD(p)\nx = x.load_state_dict(s)", "returns None, so `x` is None"),
        ("scheduler = given()\nscheduler = scheduler.load_state_dict(s)", "returns None, so `scheduler` is None"),
        ("x = given()\nx = x.load_state_dict(s)", "returns a report on keys, or None, so `x` is no longer what it was"),
    ],
)
def test_what_load_state_dict_returns(lines, words):
    found = messages(906, f"s = torch.load('s', weights_only=True)\n{lines}\n")
    assert len(found) == 1
    assert words in found[0]


TRAINED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)

    def forward(self, x):
        return self.body(x)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.{name} = nn.Linear(4, 2)
for x, y in zip(torch.randn(8, 3, 4), torch.randn(8, 3, 2)):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("name", "change"), [("body", "replaced"), ("head", "added")])
def test_a_layer_is_added_or_replaced(name, change):
    found = messages(118, TRAINED.format(name=name))
    assert len(found) == 1
    assert f"`net.{name}` was {change}, so" in found[0]


@pytest.mark.parametrize(
    ("lines", "cost"),
    [
        ("model = nn.Linear(2, 2)\ny = torch.tensor(model(torch.randn(3, 2)))", " and cuts it off its graph"),
        ("y = torch.tensor(torch.randn(3, 2) * 2)", ", and PyTorch warns of it"),
        ("model = nn.Linear(2, 2)\ny = torch.tensor(model(torch.randn(3, 2)).argmax(1))", ", and PyTorch warns of it"),
        ("model = nn.Linear(2, 2)\nwith torch.no_grad():\n    y = torch.tensor(model(torch.randn(3, 2)))", ", and PyTorch warns of it"),
    ],
)
def test_only_what_has_a_graph_is_cut_off_it(lines, cost):
    found = messages(412, lines + "\n")
    assert len(found) == 1
    assert found[0].endswith(f"copies a tensor{cost}")


OWN = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 2)\n"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("model = nn.Sequential(nn.Linear(4, 2), nn.ReLU())", "refuses the file since PyTorch 2.6"),
        ("from torchvision.models import resnet18\nmodel = resnet18()", "refuses the file since PyTorch 2.6"),
        (f"{OWN}model = Net()", "opens only beside the same source"),
        (f"{OWN}model = nn.Sequential(Net(), nn.ReLU())", "opens only beside the same source"),
        (f"{OWN}model = nn.DataParallel(Net())", "opens only beside the same source"),
        ("from elsewhere import build\nmodel = build()\nmodel.eval()", "opens only where they can be imported"),
    ],
)
def test_what_a_pickled_model_wants(lines, words):
    found = messages(902, f"{lines}\ntorch.save(model, 'm.pt')\n")
    assert len(found) == 1
    assert words in found[0]


@pytest.mark.parametrize("code", sorted(catalogue().rules))
def test_no_word_of_ours_stands_for_a_name(code):
    """What the program has no short name for is told in words, not as code: "the tensor", never `the tensor`."""
    for example in catalogue().rules[code].examples():
        for finding in ENGINE.check("snippet.py", example.code).findings if example.bad else ():
            assert not re.search(r"`(?:the|a|an|this) [a-z]|\\{\\w+\\}", f"{finding.message} {finding.help}"), finding.message


EPOCH = """
def train(model, loader, optimizer, epochs, losses):
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            {adds}
        print(total)
"""


def test_what_is_added_up_is_named():
    """The value that is added, in brackets where a method would be called on its last part alone; and what ends the sum."""
    finding = next(f for f in ENGINE.check("a.py", IMPORTS + EPOCH.format(adds="total += loss * 2")).findings if f.number == 106)
    assert "every `(loss * 2)`" in finding.message and "`(loss * 2).item()`" in finding.help
    assert [item.message for item in finding.related][1:] == ["`total` begins anew here, and lets go of them"]
    text = EPOCH.format(adds="losses.append(loss)").replace("    for epoch", "    losses = []\n    for epoch")
    finding = next(f for f in ENGINE.check("a.py", IMPORTS + text).findings if f.number == 106)
    assert "every `loss`" in finding.message and len(finding.related) == 1


def test_a_loop_over_what_was_used_up():
    text = "p = nn.Linear(2, 2).parameters()\ntorch.optim.SGD(p)\nfor one in p:\n    print(one)\n"
    assert messages(131, text) == ["`p` is a generator that was already used up: the loop here gets no parameters"]


@pytest.mark.parametrize(("line", "help"), [
    ("np.asarray(y)", "`y.detach()`"), ("np.save('a', y)", "`y.detach()`"), ("np.asarray(y * 2)", "`.detach()`"), ("y.numpy()", "`y.detach()`"),
])
def test_what_to_call_before_an_array_is_made(line, help):
    text = f"import numpy as np\ny = nn.Linear(2, 2)(torch.randn(2, 2))\n{line}\n"
    finding = next(f for f in ENGINE.check("a.py", IMPORTS + text).findings if f.number == 416)
    assert f"use {help} first" in finding.help and "tensor.detach" not in finding.help


def test_a_flag_of_another_device_is_no_slip():
    found = ENGINE.check("a.py", IMPORTS + "torch.autograd.profiler.profile(use_hpu=True, use_xpu=True)\n").findings
    assert not any("`use_cpu`" in finding.help for finding in found)


def test_what_takes_the_place_of_what_goes():
    later = Engine(tuple(catalogue()), torch_version=(2, 13))
    text = "with torch.backends.cuda.sdp_kernel():\n    torch.rfft(torch.zeros(2), 1)\n"
    found = {f.number: f.message for f in later.check("a.py", IMPORTS + text).findings}
    assert "`torch.nn.attention.sdpa_kernel`" in found[942] and "`torch.fft.rfft`" in found[941]
