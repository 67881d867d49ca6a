"""Sound code that findings were once given for, cause by cause; and beside it what is a mistake."""

import pytest

from tests.torchlint.dryrun.support import RULES, holds, marked, table
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine


@table({
    "412: a list is asked for": """
def convert(x):
    if isinstance(x, (list, tuple)):
        return torch.tensor(x)
    return x

convert(torch.randn(3))
""",
    "412: an array is asked for, of what is declared to be a tensor": """
import numpy as np

def convert(x: torch.Tensor):
    if isinstance(x, np.ndarray):
        x = torch.tensor(x)
    return x
""",
    "412: nobody asks": """
def convert(x: torch.Tensor):
    return torch.tensor(x)  # <- 412
""",
    "416: an array comes another way": """
import numpy as np

def shown(x):
    if isinstance(x, np.ndarray):
        return np.asarray(x)
    return x.detach().cpu().numpy()

shown(torch.randn(3, requires_grad=True) * 2)
""",
    "108: L-BFGS computes with gradients on": """
@torch.no_grad()
def fit(model, x, y):
    optimizer = torch.optim.LBFGS(model.parameters())

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    optimizer.step(closure)
""",
    "108: the same without an optimizer": """
@torch.no_grad()
def fit(model, x, y):
    loss = F.mse_loss(model(x), y)
    loss.backward()  # <- 108
""",
    "108: what is not seen may have parameters": """
def fit(backbone, head, weight, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.no_grad():
            features = backbone(x)
        loss = F.cross_entropy(head.predict(features), y) + 0
        F.cross_entropy(head.predict(features), y).backward()
        F.cross_entropy(features @ weight, y).backward()
        optimizer.step()
""",
    "108: nothing of it has": """
def fit(backbone, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.no_grad():
            features = backbone(x)
        F.cross_entropy(features.view(3, 3), y).backward()  # <- 108
        optimizer.step()
""",
    "501: a method hands the parameters out": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(3, 3) for _ in range(3)]

    def trainable(self):
        return [p for block in self.blocks for p in block.parameters()]

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
""",
    "505: a norm that holds nothing": """
class Net(nn.Module):
    def forward(self, x):
        return nn.InstanceNorm2d(3)(nn.LayerNorm(3, elementwise_affine=False)(x))
""",
    "505: a norm that holds something": """
class Net(nn.Module):
    def forward(self, x):
        x = nn.InstanceNorm2d(3, affine=True)(x)  # <- 505
        return nn.BatchNorm2d(3, affine=False)(x)  # <- 505
""",
    "933: set again, to what it was": """
import os

def seed(number):
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    torch.manual_seed(number)

def train():
    model = nn.Linear(8, 2).cuda()
    model(torch.randn(4, 8).cuda()).sum().backward()

seed(0)
train()
seed(1)
train()
""",
    "308: asked before": """
def loss_of():
    scores = nn.Linear(4, 10)(torch.randn(8, 4))
    target = torch.randint(0, 10, (8, 1))
    if scores.dim() != target.dim() + 1:
        raise ValueError("one number to a row")
    return F.cross_entropy(scores, target)
""",
    "308: an earlier line raises": """
def loss_of():
    scores = nn.Linear(4, 10)(torch.randn(8, 5))  # <- 508
    return F.cross_entropy(scores, torch.randint(0, 10, (8, 1)))
""",
    "308: asked about something else": """
def loss_of(flag):
    scores = nn.Linear(4, 10)(torch.randn(8, 4))
    if flag.size(0) != 3:
        raise ValueError("three flags")
    return F.cross_entropy(scores, torch.randint(0, 10, (8, 1)))  # <- 308
""",
    "508: a Sequential that nobody calls": """
layers = nn.Sequential(nn.Linear(4, 8), nn.Linear(16, 2))
print(len(layers))
""",
    "508: a Sequential that is given away": """
def build():
    return nn.Sequential(nn.Linear(4, 8), nn.Linear(16, 2))  # <- 508
""",
    "405: what is expected to raise": """
import pytest

def test_shape():
    x = torch.randn(3, 3)
    with pytest.raises(RuntimeError):
        x.view(5)
    with pytest.raises(RuntimeError):
        nn.Linear(4, 2)(x)
    x.view(9)  # <- 405
""",
    "901: whoever writes False knows": """
def load(path):
    return torch.load(path, weights_only=False)

def resume(path, model):
    model.load_state_dict(torch.load(path, weights_only=False))
""",
    "901: a model, by whichever release": """
def predict(path, x):
    model = torch.load(path)  # <- 901
    model.eval()
    with torch.no_grad():
        return model(x)
""",
    "901: weights, where no release is known": """
def resume(path, model):
    model.load_state_dict(torch.load(path))
""",
})
def test_not_so(code):
    holds(code)


TOY = """
import torch
import torch.nn.functional as F
from torch import nn


def test_toy():
    model = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
    F.cross_entropy(model(torch.randn(2, 4)), torch.tensor([0, 1])).backward()  # <- 301
    x = torch.randn(2, 3)
    x.view(3, 2)  # <- 405
"""


@pytest.mark.parametrize("path", ["tests/toy.py", "test_toy.py", "pack/test/toy.py", "conftest.py"])
def test_a_test_is_no_program(path):
    """What raises or does nothing is told of tests, too; the rest where that is asked for."""
    marks = marked(TOY)
    assert [(f.location.row, f.number) for f in Engine(RULES).check(path, TOY).findings] == marks[1:]
    assert [(f.location.row, f.number) for f in Engine(RULES, strict_tests=True).check(path, TOY).findings] == marks


def test_a_script_is_no_test():
    """`test_model.py` of a research project evaluates a model, and nobody runs it as a test."""
    text = TOY.replace("def test_toy", "def run")
    assert [f.number for f in Engine(RULES).check("test_model.py", text).findings] == [301, 405]
    assert [f.number for f in Engine(RULES).check("test/model.py", text).findings] == [301, 405]


@pytest.mark.parametrize("head", ["def test(model, loader):", "def test():", "def test_all(model):"])
def test_what_a_program_calls_is_no_test(head):
    """`def test(model, loader)` of a `train_test.py` evaluates; what its own file calls with something is none of pytest's, either."""
    name = head.removeprefix("def ").partition("(")[0]
    called = "" if head == "def test(model, loader):" else f"\n\n{name}({'object()' if 'model' in head else ''})\n"
    text = TOY.replace("def test_toy():", head) + called
    assert [f.number for f in Engine(RULES).check("train_test.py", text).findings] == [301, 405]


@pytest.mark.parametrize("head", ["def test():", "def test_all(model):", "def testAll():"])
def test_what_nobody_calls_is_a_test(head):
    assert [f.number for f in Engine(RULES).check("train_test.py", TOY.replace("def test_toy():", head)).findings] == [405]
    text = "import unittest\n" + TOY.replace("def test_toy():", "def test(model, loader):")
    assert [f.number for f in Engine(RULES).check("train_test.py", text).findings] == [405]


def test_a_test_is_no_caller(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "sizes.py").write_text("from torch import nn\n\n\ndef head(x):\n    return nn.Linear(4, 2)(x)\n")
    caller = "import torch\nfrom sizes import head\n\n\ndef test_head():\n    head(torch.randn(2, 5))\n"
    for name, count in (("test_sizes.py", 0), ("use.py", 1)):
        (tmp_path / name).write_text(caller)
        assert len(Engine(RULES).check(str(tmp_path / name), caller).findings) == count
    assert len(Engine(RULES, strict_tests=True).check(str(tmp_path / "test_sizes.py"), caller).findings) == 1


def test_pages_say_what_tests_are_spared():
    spared = {rule.code for rule in catalogue() if rule.tests == "silent"}
    assert {301, 309, 506, 603, 701} <= spared and not {308, 405, 508, 941} & spared


@table({
    "106: in a dict": """
def train(model, loader, optimizer):
    outputs, pairs, numbers = [], [], []
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        outputs.append({"loss": loss, "step": step})  # <- 106
        pairs.append((loss, step))  # <- 106
        numbers.append((loss.item(), {"loss": loss.detach()}))
    print(outputs, pairs, numbers)
""",
    "405: a function": """
def clean(x, y):
    torch.clamp(x, 0, 1)  # <- 405
    F.relu(x)  # <- 405
    F.relu(x, inplace=True)
    F.relu(y, True)
    torch.clamp(x, 0, 1, out=x)
    return x
""",
    "405: a function of numbers": """
def draw(net: nn.Module):
    for layer in net.modules():
        if isinstance(layer, nn.Linear):
            layer.weight.detach().normal_(0, 0.02)
            torch.fmod(layer.weight, 0.04)  # <- 405
            nn.init.constant_(layer.bias, 0)

def noisy(x, noise):
    with torch.no_grad():
        torch.add(x, noise)  # <- 405
    torch.add(x, noise, out=x)
    torch.abs_(x)
    return x
""",
    "405: functions that are shown, timed or tried": """
import time
import pytest

def shown(x):
    torch.abs(x)
    torch.exp(x)
    return x

def timed(x):
    begun = time.perf_counter()
    torch.mul(x, x)
    return time.perf_counter() - begun

def warm(x):
    for _ in range(10):
        torch.mul(x, x)

def tried(x, y):
    try:
        torch.add(x, y)
    except RuntimeError:
        return False
    with pytest.raises(RuntimeError):
        torch.add(x, y)
    return True
""",
    "406: what is compared lies as its first operand does": """
def accuracy(output, target, topk=(1,)):
    _, predicted = output.topk(max(topk), 1, True, True)
    predicted = predicted.t()
    correct = predicted.eq(target.view(1, -1).expand_as(predicted))
    print(correct[:1].view(-1), correct[:k].reshape(-1))
    return [correct[:k].view(-1).float().sum(0) for k in topk]  # <- 406

def run(model, loader):
    with torch.no_grad():
        for x, y in loader:
            print(accuracy(model(x), y, topk=(1, 5)))
""",
    "406: one row": """
def accuracy(output, target, topk=(1,)):
    _, predicted = output.topk(1, 1)
    correct = predicted.t().eq(target.view(1, -1))
    return [correct[:k].view(-1).float().sum(0) for k in topk]
""",
    "941: the next of Python 2": """
def first(data, reader):
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    print(iter(loader).next())  # <- 941
    print(reader.next(), next(iter(loader)))
""",
})
def test_other_forms(code):
    holds(code)


@table({
    "138: a loop that ends before the last parameter": """
def tune(model: nn.Module, loader):
    for name, parameter in model.named_parameters():
        if name == "layer4.weight":
            break
        parameter.requires_grad = False
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
""",
    "138: a loop over each": """
def tune(model: nn.Module, loader):
    for name, parameter in model.named_parameters():
        parameter.requires_grad = False
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()  # <- 138
""",
})
def test_loops_that_freeze(code):
    holds(code)


@table({
    "207: a method of every module that is no forward": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def forward(self, x):
        return self.body(x)

def device_of(module):
    return next(module._named_members(lambda part: part.__dict__.items()))[1].device

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
with torch.no_grad():
    print(device_of(net), net.get_output_embeddings(), net.set_adapter("first"))
""",
    "207: a method that is given an input": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def forward(self, x):
        return self.body(x)

net = Net()
net.load_state_dict(torch.load("net.pt", weights_only=True))
with torch.no_grad():
    print(net.get_image_features(torch.rand(2, 3)))  # <- 207
""",
})
def test_methods_of_models_that_are_not_seen(code):
    holds(code)


@table({
    "401: made where `out` is": """
def mask(lengths):
    longest = int(lengths.max())
    ids = torch.arange(0, longest, out=torch.cuda.LongTensor(longest))
    return ids < lengths.unsqueeze(1)

print(mask(torch.tensor([3, 4]).cuda()))
""",
    "401: made on the CPU": """
def mask(lengths):
    longest = int(lengths.max())
    ids = torch.arange(0, longest)
    return ids < lengths.unsqueeze(1)  # <- 401

print(mask(torch.tensor([3, 4]).cuda()))
""",
    "402: places in a list that is filled later": """
class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 6)

    def forward(self, inputs):
        steps = inputs.size(0) + 1
        means = [torch.empty(0)] * steps
        for step in range(steps - 1):
            means[step + 1], width = torch.chunk(self.layer(inputs[step]), 2, dim=1)
        return torch.stack(means[1:])

halves = Halves().cuda()
""",
    "402: a value in a list that stays": """
class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 6)

    def forward(self, inputs):
        steps = inputs.size(0) + 1
        means = [torch.zeros(2, 3)] * steps  # <- 402
        for step in range(steps - 1):
            means[step + 1], width = torch.chunk(self.layer(inputs[step]), 2, dim=1)
        return torch.stack(means)

halves = Halves().cuda()
""",
    "118: a layer without parameters": """
class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        self.squash = nn.LogSoftmax(dim=1)

    def observe(self, x, y):
        self.optimizer.zero_grad()
        F.nll_loss(self.squash(self.net(x)), y).backward()
        self.optimizer.step()
""",
    "118: a layer with parameters": """
class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        self.norm = nn.BatchNorm1d(3)  # <- 118

    def observe(self, x, y):
        self.optimizer.zero_grad()
        F.cross_entropy(self.norm(self.net(x)), y).backward()
        self.optimizer.step()
""",
    "501: the parameters of the layers have a list of their own": """
class Stacked(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks, weights = [], []
        for _ in range(depth):
            block = nn.Linear(3, 3)
            self.blocks.append(block)
            weights.extend(block.parameters())
        self.weights = nn.ParameterList(weights)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

print(Stacked(3)(torch.rand(2, 3)))
""",
    "506: a container for the parameters of layers in a list": """
class Heads(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.heads = []
        for size in sizes:
            head = nn.Linear(3, size)
            self.heads.append(head)
        self._heads = nn.ModuleList(self.heads)

    def forward(self, x, which):
        return self.heads[which](x)
""",
    "506: a container that nobody reads": """
class Heads(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self._heads = nn.ModuleList([nn.Linear(3, size) for size in sizes])  # <- 506

    def forward(self, x):
        return self.body(x)
""",
    "518: a norm that is asked for by name, where none is": """
class Block(nn.Module):
    def __init__(self, norm=None):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.norm = norm
        if self.norm == "batch":
            self.bn = nn.BatchNorm2d(3)

    def forward(self, x):
        x = self.conv(x)
        return x if self.norm is None else self.bn(x)

def train(images):
    net = Block()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.utils.data.DataLoader(images, batch_size=1, shuffle=True):
        optimizer.zero_grad()
        net(x).mean().backward()
        optimizer.step()

train(torch.rand(4, 3, 8, 8))
""",
    "518: a norm that is asked for by name": """
class Block(nn.Module):
    def __init__(self, norm=None):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.norm = norm
        if self.norm == "batch":
            self.bn = nn.BatchNorm2d(3)

    def forward(self, x):
        x = self.conv(x)
        return x if self.norm is None else self.bn(x)

def train(images):
    net = Block("batch")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in torch.utils.data.DataLoader(images, batch_size=1, shuffle=True):
        optimizer.zero_grad()
        net(x).mean().backward()  # <- 518
        optimizer.step()

train(torch.rand(4, 3, 8, 8))
""",
    "401: an item of a tensor that is cast is a number for an index": """
def confusion(net, loader, labels):
    counts = torch.zeros(4, 4)
    for x, y in loader:
        labels.data.copy_(y)
        for label in labels.view(-1):
            counts[label.long(), 0] += 1
    return counts

confusion(nn.Linear(3, 4).cuda(), torch.utils.data.DataLoader(data), torch.LongTensor(1).cuda())
""",
    "401: an index on the GPU that is cast": """
def confusion(net, loader, labels):
    counts = torch.zeros(4, 4)
    for x, y in loader:
        counts[labels.long(), 0] += 1  # <- 401
    return counts

confusion(nn.Linear(3, 4).cuda(), torch.utils.data.DataLoader(data), torch.LongTensor(4).cuda())
""",
    "904: taken in each turn, it is the last anyway": """
def fit(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        state = model.state_dict()
        loss = F.mse_loss(model(x), x) + sum(value.abs().sum() for value in state.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return state

fit(nn.Linear(3, 3), torch.rand(4, 2, 3))
""",
    "904: taken where the loss is less": """
def fit(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    least = 1e9
    for x in loader:
        loss = F.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < least:
            least = loss.item()
            state = model.state_dict()  # <- 904
    return state

fit(nn.Linear(3, 3), torch.rand(4, 2, 3))
""",
})
def test_what_a_reading_called_false(code):
    holds(code)
