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
