"""Evaluations by what their data are called or are part of, and by what becomes of the output: 202; and 207 beside a training."""

from tests.torchlint.dryrun.support import holds, table

HELD_OUT = """
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST

first, second = DataLoader(MNIST("d", train=True), 8, shuffle=True), DataLoader(MNIST("d", {part}), 8, shuffle=True)

def fit(net, loader_train, loader_val, loaders):
    optimizer = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x, y in loader_train:
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        total = 0.0
        for i, (x, y) in enumerate({over}):
            total += F.cross_entropy(net(x), y).item(){mark}
        print(total / (i + 1))
"""


@table({
    "named the other way round": HELD_OUT.format(part="train=False", over="loader_val", mark="  # <- 202"),
    "by a key": HELD_OUT.format(part="train=False", over='loaders["val"]', mark="  # <- 202"),
    "the part of a data set": HELD_OUT.format(part="train=False", over="second", mark="  # <- 202"),
    "the part to train on, which is only looked at": HELD_OUT.format(part="train=True", over="second", mark="  # <- 202"),
    "an iteration of something, which is only looked at": HELD_OUT.format(part="train=False", over="loader_train.data_values", mark="  # <- 202"),
})
def test_data_that_are_held_out(code):
    holds(code)


@table({
    "two outputs added up": """
def fit(net, loader, test_loader):
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x in loader:
            opt.zero_grad()
            first, second = net(x)
            (first + second).backward()
            opt.step()
        mean = 0.0
        for i, x in enumerate(test_loader):
            first, second = net(x)  # <- 202
            mean += (first + second - mean) / (i + 1)
""",
    "without gradients": """
def fit(net, loader, test_loader):
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(9):
        for x in loader:
            opt.zero_grad()
            first, second = net(x)
            (first + second).backward()
            opt.step()
        mean = 0.0
        with torch.no_grad():
            for i, x in enumerate(test_loader):
                first, second = net(x)
                mean += (first + second - mean) / (i + 1)
""",
})
def test_what_an_evaluation_adds_up(code):
    holds(code)


LOADED = """
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters())

def train(loader):
    for x, y in loader:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

def show(x):
    net.load_state_dict(torch.load("a.pt", weights_only=True))
    {first}
    print(net(x).argmax(1)){mark}

{calls}
"""


@table({
    "a training that is not called": LOADED.format(first="pass", calls="show(torch.randn(1, 4))", mark="  # <- 207"),
    "put in its mode": LOADED.format(first="net.eval()", calls="with torch.no_grad():\n    show(torch.randn(1, 4))", mark=""),
    "trained again": LOADED.format(first="pass", calls="with torch.no_grad():\n    show(torch.randn(1, 4))\ntrain([])", mark=""),
})
def test_a_model_that_is_loaded_beside_its_training(code):
    holds(code)


@table({
    "a step by hand": """
def fit(net, batches, x_val, y_val):
    for x, y in batches:
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()
        for p in net.parameters():
            p.data.add_(p.grad.data, alpha=-0.1)
        hits = (torch.max(net(x_val), 1)[1] == y_val).sum()  # <- 202
        print(hits.item())
""",
})
def test_an_evaluation_beside_a_step_by_hand(code):
    holds(code)


BODY = """
from torch.utils.data import DataLoader

model = nn.Linear(4, 2)
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)
train_loader, test_loader = DataLoader(first, shuffle=True), DataLoader(second)

for epoch in range(9):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.mse_loss(x, y)
        loss.backward()
        optimizer.step()
    total = 0
    for x, y in {over}:
        total += F.mse_loss(model(x).float(), y).item() / len(test_loader){mark}
    print(total)
"""


@table({
    "what the optimizer has, whatever the training makes of it": BODY.format(optimizer="Adam", over="test_loader", mark="  # <- 202"),
    "other data": BODY.format(optimizer="Adam", over="batches", mark=""),
})
def test_in_the_body(code):
    holds(code)
