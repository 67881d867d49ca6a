"""Evaluations that keep the graph as small programs have them: 202, and what is none."""

from tests.torchlint.dryrun.support import IMPORTS, RULES, found, holds, table
from torchlint.engine import Engine

TRAINED = """
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
STEP = """
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


@table({
    "volatile does nothing since 0.4": """
from torch.autograd import Variable

def test(net: nn.Module, loader):
    net.eval()
    hits = 0
    for x, y in loader:
        x, y = Variable(x, volatile=True), Variable(y)  # <- 942
        hits += (net(x).argmax(1) == y).sum().item()  # <- 202
    return hits
""",
    "a test every so many steps": """
def main(batches, test_x, test_y):""" + TRAINED.replace("\n", "\n    ") + """
    for step, (x, y) in enumerate(batches):""" + STEP + """
        if step % 50 == 0:
            guess = torch.max(model(test_x), 1)[1].data.numpy()  # <- 202
            print((guess == test_y.numpy()).mean())
""",
    "held-out data in each epoch": """
def main(x, y, x_val, y_val):""" + TRAINED.replace("\n", "\n    ") + """
    for epoch in range(100):""" + STEP + """
        val_loss = F.cross_entropy(model(x_val), y_val)  # <- 202
        print(val_loss.item())
""",
    "held-out data that are trained on after all": """
def main(x, y, x_val, y_val):""" + TRAINED.replace("\n", "\n    ") + """
    for epoch in range(100):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(x_val), y_val)
        loss.backward()
        optimizer.step()
        print(loss.item())
""",
    "dev is a device": """
def main(batches, dev):""" + TRAINED.replace("\n", "\n    ") + """
    for x, y in batches:""" + STEP + """
        print(model(x.to(dev)).argmax(1))
""",
    "a model that is given, tested in the midst of its training": """
def fit(net, criterion, optimizer, batches, held):
    for b, (x, y) in enumerate(batches):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        for name, value in net.named_parameters():
            print(name, value.grad.norm())
        total = 0
        for val_x, val_y in held:
            output = net(val_x)  # <- 202
            total += criterion(output, val_y).item()
        print(total)
""",
    "the last loss is read behind the loop": """
def main(train_loader, test_loader):""" + TRAINED.replace("\n", "\n    ") + """
    for x, y in train_loader:""" + STEP + """
    for x, y in test_loader:
        test_loss = F.cross_entropy(model(x), y)  # <- 202
    print(test_loss.detach().numpy())
""",
    "one of several models, whichever was made": """
def test(kind, loader):
    if kind == "a":
        net = torch.hub.load("x", "a")
    elif kind == "b":
        net = torch.hub.load("x", "b")
    elif kind == "c":
        net = nn.Linear(4, 3)
    else:
        net = nn.Linear(4, 5)
    net.eval()
    for x in loader:
        print(net(x).argmax(1))  # <- 202
""",
    "the loss is added up with its graph, in training mode": """
def main(train_loader, test_loader):""" + TRAINED.replace("\n", "\n    ") + """
    for x, y in train_loader:""" + STEP + """
    total = 0
    for x, y in test_loader:
        total += F.cross_entropy(model(x), y)  # <- 106, 202
    print(total)
""",
    "the graph is cut off for the loss": """
def vali(net: nn.Module, criterion, loader):
    net.eval()
    total = []
    for x, y in loader:
        guess = net(x)  # <- 202
        total.append(criterion(guess.detach().cpu(), y))
    return sum(total)
""",
    "a model that something unknown has": """
def test(learner, loader):
    learner.model.eval()
    for x in loader:
        print(learner.model(x).argmax(1))  # <- 202
""",
    "an array of what was computed from data": """
def test(net: nn.Module, scale, loader):
    net.eval()
    for x in loader:
        boxes = net(x).data  # <- 202
        print((boxes[0] * scale).cpu().numpy())
""",
    "indices carry no graph, and are kept": """
def testOnce(net, loader):
    guesses = []
    for x, y in loader:
        _, guess = torch.max(net(x), 1)  # <- 202
        guesses.append(guess)
    return torch.stack(guesses).numpy()
""",
    "the values beside them do": """
def testOnce(net, loader):
    best = []
    for x, y in loader:
        value, _ = torch.max(net(x), 1)
        best.append(value)
    return torch.stack(best)
""",
    "an import of autograd says nothing": """
import torch.autograd as autograd

def test(net: nn.Module, loader):
    net.eval()
    for x, y in loader:
        print(net(autograd.Variable(x)).argmax(1))  # <- 202
""",
    "a jacobian of the model does": """
from torch.autograd.functional import jacobian

def test(net: nn.Module, loader):
    net.eval()
    for x, y in loader:
        print(net(x).argmax(1), jacobian(net, x))
""",
    "a metric that cannot be seen is given the output": """
from metrics import dice_error

def test(net: nn.Module, loader):
    net.eval()
    total = 0
    for x, y in loader:
        output = net(x)  # <- 202
        total += dice_error(output, y)
        print(output.argmax(1))
""",
    "a model out of a checkpoint": """
def test(loader):
    net = torch.load("all.pth", weights_only=False)["net"].cuda()
    net.eval()
    for x in loader:
        print(net(x).argmax(1))  # <- 202
""",
    "106: the losses of one step, in a list that is made for it": """
def train(net: nn.Module, optimizer, batches, parts):
    for x, y in batches:
        optimizer.zero_grad()
        losses = []
        for part in range(parts):
            loss = F.cross_entropy(net(x[part]), y[part])
            losses.append(loss)
            loss.backward()
        optimizer.step()
        print(sum(losses).item())
""",
    "106: the mean of a step's losses, by a function that calls itself, goes into a meter": """
class Meter:
    def __init__(self):
        self.sum, self.count = 0, 0

    def update(self, value, n):
        self.sum += value * n  # <- 106
        self.count += n

def total(x):
    return x[0] if len(x) == 1 else x[0] + total(x[1:])

def train(net: nn.Module, optimizer, batches, parts):
    meter = Meter()
    for x, y in batches:
        optimizer.zero_grad()
        losses = []
        for part in range(parts):
            loss = F.cross_entropy(net(x[part]), y[part])
            losses.append(loss)
            loss.backward()
        optimizer.step()
        meter.update(total(losses) / parts, len(x))
    return meter
""",
    "106: the losses of an epoch": """
def train(net: nn.Module, optimizer, batches, epochs):
    for epoch in range(epochs):
        losses = []
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            losses.append(loss)  # <- 106
            loss.backward()
            optimizer.step()
        print(sum(losses).item())
""",
    "layers in a list, called in a method of the model": """
class Encoder(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            self.layers.append(nn.Linear(4, 4))

    def encode(self, x):
        x = self.first(x)
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x

    def predict(self, x):
        return self.encode(x)

def test(net: nn.Module, data):
    for x in data:
        print(net.predict(x).data.cpu().numpy())  # <- 202

def main(data, depth):
    net = Encoder(depth)
    net.eval()
    test(net, data)
""",
    "a function of a file that is not there": """
from helpers import *

def test(boxes, targets):
    for box in boxes:
        overlap, i = box_iou(box, targets).max(1)
        print(i.numpy())
""",
    "a loop that trains, and is run once more": """
class World:
    def __init__(self):
        self.cell = nn.GRUCell(4, 4)
        self.optimizer = torch.optim.Adam(self.cell.parameters())

    def scan(self, steps, state):
        for step in steps:
            state = self.cell(step, state)
        return state

    def train(self, batches):
        for steps, state, y in batches:
            self.optimizer.zero_grad()
            F.mse_loss(self.scan(steps, state), y).backward()
            self.optimizer.step()

def main(batches, steps, state):
    world = World()
    world.train(batches)
    print(world.scan(steps, state).detach().numpy())  # <- 202
""",
    "layers that a model gets by setattr": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3):
            setattr(self, "block" + str(i), nn.Linear(4, 4))

    def forward(self, x):
        return self.block2(self.block1(self.block0(x)))

def val(loader):
    net = Net()
    net.eval()
    for x in loader:
        print(net(x).argmax(1))  # <- 202
""",
    "a layer without parameters": """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
net.load_state_dict(torch.load("net.pth", weights_only=True))
net.eval()
larger = nn.Upsample(scale_factor=2)
for x in testloader:
    x = larger(x)
    print(larger(net(x)).data.numpy())  # <- 202
""",
    "a switch is no data": """
def main(batches, is_test, val):""" + TRAINED.replace("\n", "\n    ") + """
    for x, y in batches:""" + STEP + """
        print(model(x, is_test, val).argmax(1))
""",
    "a metric that keeps what it measures": """
from metrics import compute_metrics

def test(net: nn.Module, loader, manager):
    net.eval()
    for x, y in loader:
        compute_metrics(net(x), y, manager)  # <- 202
""",
    "the program of a test": """
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
net.load_state_dict(torch.load("net.pth", weights_only=True))
for x in testloader:
    print(torch.max(net(x).data, 1)[1].numpy())  # <- 202
""",
    "what is made of the data is no model": """
def predict(net: nn.Module, transform, images):
    for image in images:
        print(net(transform(image).to("cuda")).argmax(1))  # <- 202
""",
    "two models of one evaluation": """
def main(there: nn.Module, back: nn.Module, loader):
    there.eval()
    back.eval()
    for x in loader:
        print(there(x).detach().numpy())  # <- 202
        print(back(x).detach().numpy())
""",
    "layers in the model's own loop are told where the model is called": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.cell = nn.LSTMCell(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, words):
        state = None
        for word in words:
            state = self.cell(self.embed(word), state)
        return self.head(state[0])

def main(batches, test_set):
    tagger = Tagger()
    optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        F.cross_entropy(tagger(x), y).backward()
        optimizer.step()
    total = 0
    for x, y in test_set:
        loss = F.cross_entropy(tagger(x), y)  # <- 202
        total += loss.data
    print(total)
""",
    "a method of the model, behind its training": """
class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(9, 4)
        self.last = nn.Linear(4, 9)

    def forward(self, x):
        return self.last(self.first(x))

    def embedding(self, x):
        return self.first(x)

def main(batches, words):
    net = Words()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    found = []
    for word in words:
        found.append(net.embedding(word).detach().numpy())  # <- 202
    return found
""",
    "train(), which has the name of a method of models, evaluates too": """
net = nn.Linear(4, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

def train(x, y):
    net.train()
    optimizer.zero_grad()
    F.cross_entropy(net(x), y).backward()
    optimizer.step()
    net.eval()
    print((net(x).argmax(1) == y).sum().item())  # <- 202

def main(x, y):
    for epoch in range(9):
        train(x, y)
""",
})
def test_evaluations_that_keep_the_graph(code):
    holds(code)


def test_before_no_grad_there_was_nothing_else():
    text = IMPORTS + """
def test(net: nn.Module, loader):
    net.eval()
    for x in loader:
        print(net(torch.autograd.Variable(x, volatile=True)).argmax(1))
"""
    assert [number for _, number in found(text)] == [202, 942]
    assert not found(text, judge=Engine(RULES, torch_version=(0, 3)))
