"""What a message says where one rule has several things to say: each is true of its case alone."""

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
