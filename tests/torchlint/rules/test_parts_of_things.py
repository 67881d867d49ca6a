"""What is asked of a thing and done to its parts: a frozen body run layer by layer (141), another sum of the losses (106), a
batch that was moved some calls ago (401); and a function of torch's that is asked without a call (132)."""

from tests.torchlint.dryrun.support import holds, table

FROZEN = """
class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.fc = Body(), nn.Linear(8, 3)
        for p in self.body.parameters():
            p.requires_grad = False

    def forward(self, x):
        x = self.body.first(x)
        {norm}
        return self.fc(x.mean((2, 3)))

def go(loader):
    model = Net()
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.1)
    for epoch in range(10):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y){mark}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
TWO_LOSSES = """
def go(loader, d, opt):
    losses = []
    for x, y in loader:
        opt.zero_grad()
        a = F.mse_loss(d(x), y)
        a.backward()
        b = F.mse_loss(d(x + 1), y)
        b.backward()
        opt.step()
        {kept}
    print(losses)

go([], nn.Linear(3, 1), torch.optim.SGD([], lr=0.1))
"""
MOVED = """
from torch.utils.data import DataLoader
from torchvision import datasets

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(datasets.ImageFolder("a"), batch_size=8, shuffle=True, num_workers=6)
for x, y in loader:
    x = x{move}
    loss = model(x).sum(){mark}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@table({
    "layer by layer": FROZEN.format(norm="x = self.body.norm(x)", mark="  # <- 141"),
    "its norm is left out": FROZEN.format(norm="x = x.relu()", mark=""),
})
def test_a_frozen_body_that_runs_layer_by_layer(code):
    holds(code)


@table({
    "another sum": TWO_LOSSES.format(kept="total = (a + b) / 2\n        losses.append(total)  # <- 106"),
    "numbers": TWO_LOSSES.format(kept="total = (a + b) / 2\n        losses.append(total.item())"),
    "numbers added up": TWO_LOSSES.format(kept="total = a.item() + float(b)\n        losses.append(total)"),
    "detached": TWO_LOSSES.format(kept="losses.append((a + b).detach())"),
})
def test_another_sum_of_the_losses(code):
    holds(code)


@table({
    "moved, then cast": MOVED.format(move=".cuda().float()", mark=""),
    "moved, then sliced": MOVED.format(move=".cuda()[:, :2].float()", mark=""),
    "cast alone": MOVED.format(move=".float()", mark="  # <- 401"),
})
def test_a_batch_that_was_moved_some_calls_ago(code):
    holds(code)


@table({
    "in a choice": 'device = torch.device("cuda" if torch.cuda.is_available else "cpu")  # <- 132',
    "in a condition": """
from torch import cuda

def f(x, wanted):
    if wanted and not cuda.is_available:  # <- 132
        return x
    while torch.is_grad_enabled:  # <- 132
        x = x.cuda()
""",
    "called, handed on, and of something else": """
import gpus

def f(x, wanted):
    ask = torch.cuda.is_available
    if ask() and torch.cuda.is_available() or gpus.is_available:
        return x.cuda(), ask
""",
})
def test_functions_that_are_asked_without_a_call(code):
    holds(code)


TWO_NETS = """
class Net(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.first, self.second = nn.Linear(a, 16), nn.Linear(16, b)

    def forward(self, x):
        return self.second(self.first(x).relu())

g, d = Net(4, 8), Net(8, 1)
g_steps, d_steps = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
for real in torch.randn(10, 5, 8):
{body}
"""
OLD_GAN = """
    fake = g(torch.randn(5, 4))
    of_fake = d(fake)
    d_loss = of_fake.mean() - d(real).mean()
    g_loss = -{score}.mean()
    d_steps.zero_grad()
    d_loss.backward(retain_graph=True)
    d_steps.step()
    g_steps.zero_grad()
    g_loss.backward(){mark}
    g_steps.step()
"""


@table({
    "the score of before the step": TWO_NETS.format(body=OLD_GAN.format(score="of_fake", mark="  # <- 115")),
    "both before the steps": TWO_NETS.format(body="""
    of_fake = d(g(torch.randn(5, 4)))
    (of_fake.mean() - d(real).mean()).backward(retain_graph=True)
    (-of_fake.mean()).backward()
    d_steps.step()
    g_steps.step()
    d_steps.zero_grad()
    g_steps.zero_grad()
"""),
    "the step of another model": TWO_NETS.format(body="""
    value = d(real)
    choice = g(real[:, :4])
    (choice * value.detach()).mean().backward()
    g_steps.step()
    g_steps.zero_grad()
    value.pow(2).mean().backward()
    d_steps.step()
    d_steps.zero_grad()
"""),
    "run again": TWO_NETS.format(body="""
    fake = g(torch.randn(5, 4))
    d_loss = d(fake.detach()).mean() - d(real).mean()
    d_steps.zero_grad()
    d_loss.backward()
    d_steps.step()
    g_loss = -d(fake).mean()
    g_steps.zero_grad()
    g_loss.backward()
    g_steps.step()
"""),
    "what is left is a number": TWO_NETS.format(body="""
    of_fake = d(real)
    of_fake.mean().backward()
    d_steps.step()
    loss = (g(real[:, :4]) * of_fake.detach()).mean()
    d_steps.zero_grad()
    g_steps.zero_grad()
    loss.backward()
    g_steps.step()
"""),
})
def test_weights_that_a_step_changes_before_the_second_backward(code):
    holds(code)


@table({
    "put together": """
def go(loader, net, opt):
    kept = torch.tensor([])
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        kept = torch.cat((loss.cpu().unsqueeze(0), kept), 0)  # <- 106
        loss.backward()
        opt.step()
        opt.zero_grad()
    print(kept.mean())

go([], nn.Linear(3, 1), torch.optim.SGD([], lr=0.1))
""",
    "put together without their graphs": """
def go(loader, net, opt):
    kept = torch.tensor([])
    for x, y in loader:
        loss = F.mse_loss(net(x), y)
        kept = torch.cat((kept, loss.detach().unsqueeze(0)), 0)
        loss.backward()
        opt.step()
        opt.zero_grad()
    print(kept.mean())

go([], nn.Linear(3, 1), torch.optim.SGD([], lr=0.1))
""",
    "put together for one loss": """
def go(loader, net, opt):
    for xs, y in loader:
        kept = torch.tensor([])
        for x in xs:
            kept = torch.cat([kept, net(x)])
        loss = F.mse_loss(kept, y)
        loss.backward()
        opt.step()
        opt.zero_grad()

go([], nn.Linear(3, 1), torch.optim.SGD([], lr=0.1))
""",
})
def test_losses_that_are_put_together(code):
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
    "the part to train on": HELD_OUT.format(part="train=True", over="second", mark=""),
    "an iteration of something": HELD_OUT.format(part="train=False", over="loader_train.data_values", mark=""),
})
def test_data_that_are_held_out(code):
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


SCHEDULED = """
{imports}

{train}

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10){mark}
train(model, [], optimizer, scheduler)
for x in torch.randn(3, 2, 3):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
"""
TRAIN = """
def train(model, loader, optimizer, scheduler):
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    {after}
"""


@table({
    "to a function that leaves it alone": SCHEDULED.format(imports="", train=TRAIN.format(after="print(model)"), mark="  # <- 110"),
    "to a function that steps it": SCHEDULED.format(imports="", train=TRAIN.format(after="scheduler.step()"), mark=""),
    "to a class whose base is not there": SCHEDULED.format(imports="from elsewhere import Warm", mark="", train="""
class Own(Warm):
    def __init__(self, optimizer, after):
        super(Own, self).__init__(optimizer, after)

def train(model, loader, optimizer, scheduler):
    warm = Own(optimizer, scheduler)
    warm.step()
"""),
    "to a function that is not there": SCHEDULED.format(imports="from elsewhere import train", train="", mark=""),
})
def test_a_scheduler_that_is_given_away(code):
    holds(code)
