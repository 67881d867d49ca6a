"""808: what a program that saves the state of a wrapper says of the wrapper elsewhere."""

import pytest

from tests.torchlint.dryrun.support import IMPORTS, found
from tests.torchlint.support import write

SAVES = """
def train(net, loader, path):
    model = nn.DataParallel(net.cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        if i == 0:
            {first}
            continue
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), path)
"""


@pytest.mark.parametrize("first, told", [
    ("model.module(x)", True), ("model(x)", True),
    ("net = model.module", False), ("torch.save(model.module.state_dict(), path)", False), ("getattr(model, 'module').eval(); net = model.module", False),
])
def test_a_call_of_what_is_wrapped_says_nothing_of_the_names(first, told):
    assert any(number == 808 for _, number in found(IMPORTS + SAVES.format(first=first))) is told


HELPERS = """
import torch

def init_net(net, path):
    net.load_state_dict(torch.load(path))

def count(net):
    return sum(p.numel() for p in net.parameters())
"""
USES = """
import helpers
"""


@pytest.mark.parametrize("first, told", [("print(helpers.count(net))", True), ("print(helpers.count(net), helpers.init_net)", False)])
def test_a_helper_of_another_file_that_nobody_names_loads_nothing(tmp_path, first, told):
    text = IMPORTS + USES + SAVES.format(first=first)
    path = write(tmp_path, {"helpers.py": HELPERS, "main.py": text}) / "main.py"
    assert any(number == 808 for _, number in found(text, path)) is told


def test_a_function_beside_the_saving_may_be_called_by_a_framework():
    loads = "\ndef model_fn(net, path):\n    net.load_state_dict(torch.load(path))\n\n"
    assert not any(number == 808 for _, number in found(IMPORTS + loads + SAVES.format(first="pass")))


@pytest.mark.parametrize("wrapper, told", [
    ("torch.nn.parallel.DistributedDataParallel", True), ("apex.parallel.DistributedDataParallel", True), ("apex.parallel.convert_syncbn_model", False),
])
def test_the_wrapper_of_apex_gives_the_same_names(wrapper, told):
    text = "import apex\n" + IMPORTS + SAVES.format(first="pass").replace("nn.DataParallel", wrapper)
    assert any(number == 808 for _, number in found(text)) is told


BOTH = """
import sys


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        return self.body(x)


def train(loader, path):
    {first}
    model = nn.DataParallel(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), path)


def predict(x, path):
    net = {loaded_into}
    {load}
    return net.eval()(x)


def main(loader, x, path):
    if sys.argv[1] == "train":
        train(loader, path)
    else:
        print(predict(x, path))


main(make_loader(), make_images(), sys.argv[2])
"""
LOADS = "net.load_state_dict(torch.load(path))"
BESIDE = """
import torch
from torch import nn

def resume(net, path):
    net = nn.DataParallel(net)
    net.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize("first, loaded_into, load, told", [
    ("pass", "Net()", LOADS, True), ("pass", "nn.DataParallel(Net())", LOADS, False), ("pass", "Net()", "print(path)", False),
    ("pass", "make_net()", LOADS, False), ("teacher = Net(); teacher.load_state_dict(torch.load('teacher.pt'))", "Net()", "print(path)", False),
])
def test_a_program_that_loads_into_a_bare_model_itself_needs_no_other_file(tmp_path, first, loaded_into, load, told):
    text = IMPORTS + BOTH.format(first=first, loaded_into=loaded_into, load=load)
    path = write(tmp_path, {"resume.py": BESIDE, "main.py": text}) / "main.py"
    assert any(number == 808 for _, number in found(text, path)) is told


TESTS = """
import torch
from torch import nn
from nets import Net

net = Net()
{first}
if torch.cuda.device_count() > 1:
    net = nn.DataParallel(net)
{last}
net.eval()
"""
STATE = "net.load_state_dict(torch.load('net.pt'))"


@pytest.mark.parametrize("first, last, told", [
    (f"for epoch in range(9, -1, -1):\n    {STATE}\n    break", "pass", True),
    ("pass", STATE, False), (f"def restore():\n    {STATE}", "restore()", False), (STATE, STATE, False), (f"for net in (net, net):\n    {STATE}\n    net = nn.DataParallel(net)", "pass", False),
    (STATE, "optimizer = torch.optim.SGD(net.parameters(), 0.1)\noptimizer.load_state_dict(torch.load('optimizer.pt'))", True),
])
def test_a_file_beside_it_that_loads_before_it_wraps_takes_bare_names(tmp_path, first, last, told):
    text = IMPORTS + SAVES.format(first="pass")
    path = write(tmp_path, {"test_net.py": TESTS.format(first=first, last=last), "main.py": text}) / "main.py"
    assert any(number == 808 for _, number in found(text, path)) is told


@pytest.mark.parametrize("line, told", [
    ("for module in net.modules(): print(module.training)", True), ("names = {key.replace('module.', ''): 0 for key in net.state_dict()}", False),
    ("names = ['.'.join(key.split('.')[1:]) for key in net.state_dict()]", False), ("names = [key for key in net.state_dict() if re.match(r'^module\\.', key)]", False),
    ("module = get_net(net); print(module.state_dict())", False),
])
def test_a_variable_says_nothing_of_the_names(line, told):
    assert any(number == 808 for _, number in found(IMPORTS + SAVES.format(first=line))) is told
