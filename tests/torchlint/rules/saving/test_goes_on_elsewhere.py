"""905 where the weights are loaded in another file than the one that trains."""

import pytest

from tests.torchlint.support import write
from torchlint.api import check

NETS = """
import torch
import torch.nn as nn

class Pair(nn.Module):
    def initialize(self, opt):
        self.net = nn.Linear(4, 2)
        OPTIMIZER
        if ASKED:
            self.bring_back(self.net, opt.epoch)LOADED

    def bring_back(self, net, epoch):
        try:
            net.load_state_dict(torch.load(f"{epoch}.pt"))
        except RuntimeError:
            net.load_state_dict(torch.load(f"{epoch}.pt"), strict=False)

    def save(self, label):
        torch.save(self.net.state_dict(), f"{label}.pt")

def create(opt):
    made = Pair()
    made.initialize(opt)
    return made
"""
TRAIN = """
import torch
import torch.nn.functional as F
from nets import create
from options import parse

opt = parse()
if opt.continue_train:
    start, seen = read("iter.txt")
else:
    start, seen = 1, 0

loader = data(opt)
shown = len(loader)
print(shown)
print(opt)

model = create(opt)CREATED
optimizer = OPTIMIZER
shape = model.net.weight.shape
print(shape)
print(shape[0])

for epoch in range(start, opt.epochs + 1):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model.net(x), y).backward()
        optimizer.step()
    model.save("latest")
"""
MADE = "self.optimizer = torch.optim.Adam(self.net.parameters())"
MADE_THERE = "torch.optim.Adam(model.net.parameters())"


def told(tmp_path, nets, train):
    write(tmp_path, {"pyproject.toml": "", "nets.py": nets.replace("LOADED", ""), "train.py": train.replace("CREATED", "")})
    found = check(tmp_path, cache=False)
    return [(one.location.filename.rpartition("/")[2], one.location.row) for one in found if one.code == "TL905"]


@pytest.mark.parametrize(("asked", "says"), [
    ("not self.training or opt.continue_train", True),
    ("not self.training or opt.continue_train or opt.load_pretrain", True),
    ("opt.load_pretrain", False),
    ("not opt.continue_train", False),
])
def test_loaded_where_the_optimizer_is_made(tmp_path, asked, says):
    nets = NETS.replace("OPTIMIZER", MADE).replace("ASKED", asked)
    row = nets[: nets.index("LOADED")].count("\n") + 1
    assert told(tmp_path, nets, TRAIN.replace("OPTIMIZER", "model.optimizer")) == [("nets.py", row)] * says


@pytest.mark.parametrize(("asked", "says"), [
    ("opt.continue_train", True),
    ("opt.resume", True),
    ("opt.continue_train and opt.pretrained", False),
    ("opt.weights", False),
    ("not opt.resume", False),
])
def test_told_at_the_call_where_the_optimizer_is_made_beside_it(tmp_path, asked, says):
    nets, train = NETS.replace("OPTIMIZER", "pass").replace("ASKED", asked), TRAIN.replace("OPTIMIZER", MADE_THERE)
    row = train[: train.index("CREATED")].count("\n") + 1
    assert told(tmp_path, nets, train) == [("train.py", row)] * says


@pytest.mark.parametrize("behind", ["model.save('latest')\nmodel = create(opt)\n", "if opt.test:\n    create(opt)\n"])
def test_not_what_is_loaded_behind_the_training_or_for_another_end(tmp_path, behind):
    nets = NETS.replace("OPTIMIZER", MADE).replace("ASKED", "opt.continue_train")
    train = TRAIN.replace("OPTIMIZER", "model.optimizer").replace("model = create(opt)CREATED", "from nets import Pair\nmodel = Pair()\nmodel.start(opt)")
    nets += """
    """
    nets = nets.replace("    def bring_back", "    def start(self, opt):\n        self.net = nn.Linear(4, 2)\n        " + MADE + "\n\n    def bring_back")
    assert told(tmp_path, nets, train + behind) == []


def test_not_where_the_optimizer_is_brought_back(tmp_path):
    nets = NETS.replace("OPTIMIZER", MADE).replace("ASKED", "opt.continue_train")
    nets = nets.replace("self.bring_back(self.net, opt.epoch)", "self.bring_back(self.net, opt.epoch)\n            self.optimizer.load_state_dict(torch.load('o.pt'))")
    assert told(tmp_path, nets, TRAIN.replace("OPTIMIZER", "model.optimizer")) == []
