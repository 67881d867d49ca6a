"""A fix in one file stays only where no other file has a finding for it that it had not."""

import pytest

from tests.torchlint.support import run_python, write


@pytest.fixture
def lint(tmp_path):
    def run(files, *options):
        write(tmp_path, {"setup.cfg": "", **files})
        done = run_python("-m", "torchlint", "--no-cache", "-j", "1", "--isolated", *options, cwd=tmp_path)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    return run


HELPER = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]

    def forward(self, x):
        return self.layers[1](self.layers[0](x)).softmax(dim=1)
"""
# The optimizer is made before the layers are put in a ModuleList by hand: with the fix, that is one list in another.
USER = """import torch
import torch.nn.functional as F
from helper import Net


def train(loader):
    model = Net()
    optimizer = torch.optim.SGD([p for layer in model.layers for p in layer.parameters()], lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
"""


def test_a_fix_that_harms_nobody_stays(lint, tmp_path):
    status, out, err = lint({"helper.py": HELPER, "train.py": USER}, "--fix", "--unsafe-fixes", "--select", "TL501", ".")
    assert "nn.ModuleList(" in (tmp_path / "helper.py").read_text() and "taken back" not in err


# As it is, the helper's function gives scores; with what the fix of 405 writes, probabilities, which `train.py` gives to a loss.
SCORES = """import torch


def scores(model, x):
    y = model(x)
    y.softmax(dim=1)
    return y
"""
LOSS = """import torch.nn.functional as F
from helper import scores


def loss(model, x, y):
    return F.cross_entropy(scores(model, x), y)
"""


@pytest.mark.parametrize("named", [".", "helper.py"])
def test_a_fix_that_makes_a_finding_in_another_file_is_taken_back(lint, tmp_path, named):
    status, out, err = lint({"helper.py": SCORES, "train.py": LOSS}, "--fix", "--unsafe-fixes", named)
    assert (tmp_path / "helper.py").read_text() == SCORES, err
    assert "the fix of TL405 was taken back: it brings TL301 in line 6 of train.py: " in err


def test_the_same_fix_where_nobody_uses_it(lint, tmp_path):
    lint({"helper.py": SCORES, "other.py": LOSS.replace("from helper", "from elsewhere")}, "--fix", "--unsafe-fixes", ".")
    assert "y = y.softmax(dim=1)" in (tmp_path / "helper.py").read_text()


def test_other_fixes_of_that_file_stay(lint, tmp_path):
    both = SCORES + "\n\ndef predict(model, x):\n    torch.no_grad()\n    return model(x)\n"
    status, out, err = lint({"helper.py": both, "train.py": LOSS}, "--fix", "--unsafe-fixes", ".")
    text = (tmp_path / "helper.py").read_text()
    assert "y = y.softmax" not in text and "with torch.no_grad():" in text, err


# Its own body gives `evaluate` a model that is known: there, to switch gradients off is safe. In `main.py` nothing is known of it.
EVALUATES = """import torch


def evaluate(model, loader):
    model.eval()
    total = 0
    for x, y in loader:
        total += (model(x).argmax(1) == y).sum().item()
    return total


if __name__ == "__main__":
    net = torch.nn.Linear(3, 2)
    net.eval
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 3), torch.ones(4)))
    print(evaluate(net, data))
"""
UNKNOWN = """import torch
from somewhere import Model
from train import evaluate

loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 3), torch.ones(4)))
print(evaluate(Model(), loader))
"""


@pytest.mark.parametrize("named", [".", "train.py"])
def test_a_fix_that_is_unsafe_for_another_file_is_not_made_beside_one_that_is_safe(lint, tmp_path, named):
    status, out, err = lint({"main.py": UNKNOWN, "train.py": EVALUATES}, "--fix", named)
    text = (tmp_path / "train.py").read_text()
    assert "net.eval()" in text and "no_grad" not in text, text
    assert "mended 1 finding in 1 file (TL132 1); 1 more with --unsafe-fixes" in err


def test_both_are_made_where_nobody_else_is(lint, tmp_path):
    status, out, err = lint({"train.py": EVALUATES}, "--fix", ".")
    text = (tmp_path / "train.py").read_text()
    assert "net.eval()" in text and "with torch.no_grad():" in text, err
