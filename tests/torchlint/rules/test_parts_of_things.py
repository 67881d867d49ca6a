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
