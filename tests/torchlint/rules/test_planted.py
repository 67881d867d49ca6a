"""What was missed of mistakes that were planted by a machine in programs of others, cause by cause (benchmarks/planting.py)."""

from tests.torchlint.dryrun.support import IMPORTS, engine, holds, table
from torchlint.catalogue.pages import catalogue
from torchlint.engine import Engine

PARTS = """
import torch
from torch import nn, optim

model = nn.Linear(4, 2)
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.1)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)

def train(epoch):
    for x, y in batches:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

for epoch in range(200):
    train(epoch)
"""


@table({
    "203: the model's class is not seen, and nobody calls train()": """
from models import *
from utils import progress_bar

net = VGG("VGG19")
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(epoch):
    for i, (x, y) in enumerate(trainloader):
        optimizer.zero_grad()
        outputs = net(x)  # <- 203
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()
        progress_bar(i, len(trainloader))

def test(epoch):
    net.eval()
    with torch.no_grad():
        for x, y in testloader:
            print(criterion(net(x), y).item())

for epoch in range(100):
    train(epoch)
    test(epoch)
""",
    "203: it is seen, and has one mode": """
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

for epoch in range(100):
    for x, y in trainloader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for x, y in testloader:
            print(F.cross_entropy(net(x), y).item())
""",
    "203: it is not seen, and is in evaluation mode from the start": """
from models import pretrained

net = pretrained()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.eval()

for epoch in range(100):
    for x, y in trainloader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
""",
    "203: it is not seen, and its head is trained in evaluation mode on purpose": """
from elsewhere import models

def run(args):
    model = models.__dict__[args.arch]()
    if args.distributed:
        if args.gpu is not None:
            pass
        else:
            model = torch.nn.parallel.DistributedDataParallel(model)
    elif args.gpu is not None:
        pass
    elif args.arch.startswith("alexnet"):
        pass
    else:
        model = torch.nn.DataParallel(model).cuda()
    for epoch in range(args.epochs):
        train(trainloader, model, criterion, optimizer)

def train(loader, model, criterion, optimizer):
    model.eval()
    for images, target in loader:
        loss = criterion(model(images), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
""",
    "202: the outputs are kept, and given back": """
def predict(model, loader):
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))  # <- 202
    return torch.cat(outputs)
""",
    "202: their graphs are cut off first": """
@torch.no_grad()
def predict(model, loader):
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))
    return torch.cat(outputs)
""",
    "202: it is not known what they are kept for": """
def activations(model, loader):
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))
    return torch.cat(outputs)
""",
    "202: they go backward": """
def predict(model, loader, optimizer):
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))
    torch.cat(outputs).sum().backward()
    return outputs
""",
    "202: under a decorator that takes the time": """
def timed(function):
    def wrapped(*args, **kwargs):
        result = function(*args, **kwargs)
        print(function.__name__)
        return result
    return wrapped

class Trainer:
    @timed
    def test(self, model, loader):
        model.eval()
        for x, y in loader:
            print(F.cross_entropy(model(x), y).item())  # <- 202
""",
    "202: under a decorator that switches gradients off": """
def without_gradients(function):
    def wrapped(*args, **kwargs):
        with torch.no_grad():
            result = function(*args, **kwargs)
        print(function.__name__)
        return result
    return wrapped

class Trainer:
    @without_gradients
    def test(self, model, loader):
        model.eval()
        for x, y in loader:
            print(F.cross_entropy(model(x), y).item())
""",
    "202: under a decorator that enters what is not known": """
def within(function):
    def wrapped(*args, **kwargs):
        with settings():
            result = function(*args, **kwargs)
        print(function.__name__)
        return result
    return wrapped

class Trainer:
    @within
    def test(self, model, loader):
        model.eval()
        for x, y in loader:
            print(F.cross_entropy(model(x), y).item())
""",
})
def test_what_is_found(code):
    holds(code)


def test_a_rule_alone_sees_the_step_in_a_function_of_its_own():
    rules = list(catalogue())
    alone = Engine([rule for rule in rules if rule.code == 110]).check("parts.py", PARTS).findings
    among = [finding for finding in Engine(rules).check("parts.py", PARTS).findings if finding.number == 110]
    assert list(alone) == among and len(alone) == 1


def test_outputs_that_are_kept_may_be_wanted_with_their_graphs():
    (told,) = engine().check("snippet.py", IMPORTS + """
def predict(loader):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    model.eval()
    outputs = []
    for x in loader:
        outputs.append(model(x))
    return torch.cat(outputs)
""").findings
    assert told.number == 202 and told.fix.applicability == "unsafe"
