"""Classes: what an object is made of, through whatever method, base or container it came to be."""

from torchlint.dryrun.values import Class, Instance

from .support import events, found, holds, marked, runs, table

OBJECTS = {
    "set_in_init": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.soft = nn.Softmax(dim=1)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.soft(x)

    def loss(self, x, y):
        return self.criterion(self(x), y)  # <- 301
""",
    "set_in_another_method": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.build()

    def build(self):
        self.soft = nn.Softmax(dim=1)

    def forward(self, x):
        return self.soft(x)

def f(x, y):
    return F.cross_entropy(Net()(x), y)  # <- 301
""",
    "set_in_a_method_not_called_yet": """
class Trainer:
    def loss(self, x, y):
        return self.criterion(x.softmax(1), y)  # <- 301

    def setup(self):
        self.criterion = nn.CrossEntropyLoss()
""",
    "class_attribute": """
class Trainer:
    criterion = nn.CrossEntropyLoss()

    def loss(self, x, y):
        return self.criterion(x.softmax(1), y)  # <- 301
""",
    "class_attribute_of_a_base": """
class Base:
    criterion = nn.CrossEntropyLoss()

class Trainer(Base):
    def loss(self, x, y):
        return self.criterion(x.softmax(1), y)  # <- 301
""",
    "inherited_init": """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Softmax(dim=-1)

class Net(Base):
    def forward(self, x):
        return self.head(x)

def f(x, y):
    return F.cross_entropy(Net()(x), y)  # <- 301
""",
    "overridden": """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Softmax(dim=-1)

    def forward(self, x):
        return self.out(self.head(x))

    def out(self, x):
        return x

class Net(Base):
    def __init__(self):
        super().__init__()
        self.head = nn.Identity()

def f(x, y):
    F.cross_entropy(Base()(x), y)  # <- 301
    return F.cross_entropy(Net()(x), y)
""",
    "sequential": """
from collections import OrderedDict

def f(x, y):
    one = nn.Sequential(nn.Linear(2, 2), nn.Softmax(dim=1))
    two = nn.Sequential(OrderedDict([("fc", nn.Linear(2, 2)), ("soft", nn.Softmax(dim=1))]))
    three = nn.Sequential(*[nn.Linear(2, 2), nn.Softmax(dim=1)])
    four = nn.Sequential(nn.Softmax(dim=1), nn.Linear(2, 2))
    five = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Tanh(), nn.Softmax(dim=1)))
    F.cross_entropy(one(x), y)  # <- 301
    F.cross_entropy(two(x), y)  # <- 301
    F.cross_entropy(three(x), y)  # <- 301
    F.cross_entropy(four(x), y)
    return F.cross_entropy(five(x), y)  # <- 301
""",
    "sequential_by_class": """
class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(2, 2), nn.Softmax(dim=1))

def f(x, y):
    return F.cross_entropy(Net()(x), y)  # <- 301
""",
    "module_list": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(2, 2), nn.Softmax(dim=1)])
        self.named = nn.ModuleDict({"soft": nn.Softmax(dim=1), "hard": nn.Linear(2, 2)})

    def forward(self, x, y):
        F.cross_entropy(self.heads[0](x), y)
        F.cross_entropy(self.named["hard"](x), y)
        F.cross_entropy(self.named["soft"](x), y)  # <- 301
        return F.cross_entropy(self.heads[1](x), y)  # <- 301
""",
    "wrapped": """
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(nn.Module):
    def forward(self, x):
        return x.softmax(1)

def f(x, y):
    net = Net().cuda()
    net = DDP(net, device_ids=[0])
    F.cross_entropy(net(x), y)  # <- 301
    F.cross_entropy(net.module(x), y)  # <- 301
    other = torch.compile(nn.DataParallel(Net()))
    return F.cross_entropy(other(x), y)  # <- 301
""",
    "add_module": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module("soft", nn.Softmax(dim=1))
        setattr(self, "hard", nn.Linear(2, 2))

    def forward(self, x, y):
        F.cross_entropy(self.hard(x), y)
        return F.cross_entropy(self.soft(x), y)  # <- 301
""",
    "set_from_outside": """
class Net(nn.Module):
    def forward(self, x):
        return self.head(x)

def f(x, y):
    net = Net()
    net.head = nn.Softmax(dim=1)
    F.cross_entropy(net(x), y)  # <- 301
    net.head = nn.Identity()
    return F.cross_entropy(net(x), y)
""",
    "global_names": """
criterion = nn.CrossEntropyLoss()
losses = {"ce": nn.CrossEntropyLoss()}
plain = F.cross_entropy

def f(x, y):
    criterion(x.softmax(1), y)  # <- 301
    losses["ce"](x.softmax(1), y)  # <- 301
    return plain(x.softmax(1), y)  # <- 301
""",
    # The statement is left out of the run of the file, and looked up by each function that asks for it.
    "asked_for_twice": """
MODE = "soft"

class One:
    def loss(self, x, y):
        return F.cross_entropy(x.softmax(1) if MODE == "soft" else x, y)  # <- 301

class Two:
    def loss(self, x, y):
        return F.cross_entropy(x.softmax(1) if MODE == "soft" else x, y)  # <- 301

def three(x, y):
    return F.cross_entropy(x.softmax(1) if MODE == "soft" else x, y)  # <- 301

def four(x, y):
    return F.cross_entropy(x.softmax(1) if MODE == "hard" else x, y)
""",
    "two_objects": """
class Net(nn.Module):
    def __init__(self, head):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x)

def f(x, y):
    soft, hard = Net(nn.Softmax(dim=1)), Net(nn.Linear(2, 2))
    F.cross_entropy(hard(x), y)
    return F.cross_entropy(soft(x), y)  # <- 301
""",
    "chosen_by_argument": """
class Net(nn.Module):
    def __init__(self, soft=False):
        super().__init__()
        self.soft = soft

    def forward(self, x):
        if self.soft:
            x = x.softmax(1)
        return x

def f(x, y):
    F.cross_entropy(Net()(x), y)
    return F.cross_entropy(Net(soft=True)(x), y)  # <- 301
""",
    "only_out_of_training": """
class Net(nn.Module):
    def forward(self, x):
        if self.training:
            return x
        return x.softmax(1)

class Wrong(nn.Module):
    def forward(self, x):
        if self.training:
            return x.softmax(1)
        return x

def f(x, y):
    net, wrong = Net(), Wrong()
    F.cross_entropy(net(x), y)
    return F.cross_entropy(wrong(x), y)  # <- 301
""",
    "dataclass": """
from dataclasses import dataclass

@dataclass
class Out:
    logits: object = None
    probs: object = None

def f(x, y):
    out = Out(logits=x, probs=x.softmax(1))
    F.cross_entropy(out.logits, y)
    return F.cross_entropy(out.probs, y)  # <- 301
""",
    "nested_class": """
class Net(nn.Module):
    class Head(nn.Module):
        def forward(self, x):
            return x.softmax(1)

    def __init__(self):
        super().__init__()
        self.head = self.Head()

    def forward(self, x):
        return self.head(x)

def f(x, y):
    F.cross_entropy(Net.Head()(x), y)  # <- 301
    return F.cross_entropy(Net()(x), y)  # <- 301
""",
    "class_in_a_function": """
def f(x, y):
    class Head:
        def soft(self, x):
            return x.softmax(1)

    return F.cross_entropy(Head().soft(x), y)
""",
    "own_loss": """
class Loss(nn.CrossEntropyLoss):
    def forward(self, x, y):
        return super().forward(x, y) * 0.5

def f(x, y):
    return Loss()(x, y)
""",
    "class_by_its_object": """
class Head:
    def soft(self, x):
        return x.softmax(1)

def f(x, y):
    one = Head()
    return F.cross_entropy(one.__class__().soft(x), y)  # <- 301
""",
}


@table(OBJECTS)
def test_objects(code):
    holds(code)


def test_a_module_knows_what_is_in_it():
    code = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(1, 2)
        self.add_module("two", nn.ReLU())
        setattr(self, "three", nn.Tanh())
        self.rest = nn.ModuleList([nn.Linear(1, 3)])
        self.rest.append(nn.Sigmoid())
        self.named = nn.ModuleDict({"a": nn.GELU()})
        self.plain = [nn.Dropout()]
        self.size = 3

    def forward(self, x):
        return x

net = Net()
"""
    body = runs(code)[0]
    (net,) = (value for (_, name), value in body.store.data.items() if name == "net")
    assert isinstance(net, Instance) and isinstance(net.cls, Class) and net.kind == "module"

    def inside(module):
        children = [child for child in body.children.get(id(module), ()) if isinstance(child, Instance)]
        return {child.type for child in children}.union(*(inside(child) for child in children))

    names = {name.rsplit(".", 1)[1] for name in inside(net)}
    assert names == {"Linear", "ReLU", "Tanh", "ModuleList", "Sigmoid", "ModuleDict", "GELU"}


def test_kinds_of_objects():
    code = """
from torch.utils.data import Dataset, DataLoader, Sampler

class Data(Dataset): pass
class Own(torch.optim.Optimizer): pass
class Plan(torch.optim.lr_scheduler.LRScheduler): pass
class Pick(Sampler): pass
class Net(nn.Module): pass
class Deep(Net): pass
class Plain: pass

things = [Data(), Own(), Plan(), Pick(), Net(), Deep(), Plain(), DataLoader(Data()), nn.MSELoss(), torch.device("cpu")]
"""
    body = runs(code)[0]
    (things,) = (value for (_, name), value in body.store.data.items() if name == "things")
    kinds = [item.kind for item in body.items_of(things)]
    assert kinds == ["dataset", "optimizer", "scheduler", "sampler", "module", "module", "instance", "loader",
                     "loss", "device"]


def test_modes_reach_what_is_in_a_module():
    code = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = nn.Dropout()

    def forward(self, x):
        return self.part(x)

net = Net()
net(1)
net.eval()
net(2)
net.train(mode=flag)
net(3)
net.part.train()
net.part(4)
"""
    body = runs(code)[0]
    modes = [(event.subject.type, event.mode) for event in events(body, "forward")]
    assert [mode for name, mode in modes if name == "Net"] == [True, False, None]
    assert [mode for name, mode in modes if name != "Net"] == [True, False, None, True]


def test_a_class_is_found_whatever_its_order_in_the_file():
    code = """
import torch.nn.functional as F

def f(x, y):
    return F.cross_entropy(Net().out(x), y)  # <- 301

class Net:
    def out(self, x):
        return x.softmax(1)
"""
    assert found(code) == marked(code)


def test_a_class_that_is_defined_again_holds_from_there_on():
    text = """import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def forward(self, x):
        return F.softmax(x, dim=1)


net = Net()
for x, y in loader:
    F.cross_entropy(net(x), y).backward()  # <- 301


class Net(nn.Module):
    def forward(self, x):
        return x


def net_loss(x):
    return F.softmax(x, dim=1)


net = Net()
F.cross_entropy(net(x), y)


def net_loss(x):
    return x


F.cross_entropy(net_loss(x), y)
"""
    assert found(text) == marked(text)
